"""The words by which a sentence states a rule or lifts one, language by language: regular expressions as data."""

# ruff: noqa: E501 - a table of words reads better with long rows
# fmt: off

_OPEN = r"(?:^|[,;:–—]\s+|\s-\s|[,;]?\s(?:and|but|so|then|also|or)\s+|^(?:and|but|so|then|also|yes|yeah|ok|okay|no)\b,?\s+)"
"""Where an English order may begin…"""
_POLITE = r"(?:(?:also|just|please|then|kindly|claude|remember(?: to)?|remember,?|important|note)[,:!]?\s+|\*+)*"
"""…and what may stand before it."""
_DOES = r"(?!\s+\w*[^su\W]s\b)(?!\s+(?:is|was|has|had|been|were|are)\b)(?!\s+(?!need|feed|embed|proceed|exceed)\w+ed\b)"
"""Behind `always` an order has a bare verb: `always fails` tells what happens."""
_VERBS = (
    "use|run|edit|change|touch|commit|push|write|read|modify|answer|reply|respond|add|work|create|show|include|call|test|"
    "fix|update|make|output|return|ask|deploy|install|reference|import|log|speak|look|do|keep|delete|merge"
)

WORDS: dict[str, str] = {
    "en": rf"{_OPEN}{_POLITE}(?:(?:never|always)\b{_DOES}|(?:do not|don[’']t)\s+(?!have to|need|know|think|see|get|care|mind|"
          r"understand|remember|worry|want|like|believe|you\b|we\b|they\b)|make sure\b|be sure to\b)"
          rf"|^{_POLITE}(?:ensure|avoid|prefer|refrain from|stick to|only (?:{_VERBS}))\b"
          rf"|(?:[,;]\s+|\s(?:and|but)\s){_POLITE}only (?:{_VERBS})\b"
          r"|(?:^|[,;:–—(]\s*|\b(?:and|but|so|that)\s+)(?:you|claude|the agent|agents)\s+(?:must|need to|have to|shall|are to|"
          r"should(?:n['’]t)?|cannot|can['’]t|may not|may only|can only|are not allowed|aren['’]t allowed)\b"
          r"|(?:^|[,;:]\s+)(?:we|i)\s+(?:should|must|want you to|need you to|expect you to)\s+(?:always|never|only|not)\b"
          r"|(?:^|[.;,:]\s+)(?:every|each|all|any|no|the|this|that|our|my|your|tests?|both|commits?|code|files?)\b"
          r"[\w' ./-]{0,60}?\bmust(?:n['’]t)?(?: not| never| always| be| use| have(?= an?\b| the\b| no\b| at\b)| stay| pass| work| remain| include| go|"
          r" keep| match| support| run| contain| start| end)\b|^[\w' -]{2,40}\bmust (?:not |never |always )?(?:be|pass|stay|"
          r"keep|use|have(?= an?\b| the\b| no\b| at\b)|work|remain|match|include|support|contain|run|go|start|end)\b|\x00 (?:must not|must never|must stay)\b"
          r"|\b(?:from now on|at all times|under no circumstances|going forward|in (?:the )?future,|whenever you|"
          r"every time you|is forbidden|is off[- ]limits|(?:is|are) not allowed)\b",
    "zh": r"必须|必須|(?<!要)不要(?!紧|緊)|总是(?!报|失|出|返|会|提示)|總是(?!報|失|出|返|會)|禁止|请勿|請勿|(?<!不)一定要|切勿|务必|務必|"
          r"不得(?!不|已)|不准|永远(?:不|要|别)|只能|始终(?!报|失|返)|以后都|不可以|^(?:请)?别(?!的|人)|[，,]别(?!的|人)",
    "ja": "絶対に|必ず|しないで|てはいけ|禁止|常に|べからず|ないでください|以後は|今後は",
    "ko": r"항상|절대로?|반드시|하지\s?(?:마|말)|금지|무조건|앞으로는",
    "es": r"\b(?:nunca|siempre|jamás|no debes?|debes?|asegúrate|prohibido|de ahora en adelante)\b",
    "pt": r"\b(?:sempre|jamais|nunca|não deve|deve|certifique-se|proibido|de agora em diante)\b",
    "de": r"\b(?:immer|niemals|nie|muss|darf nicht|dürfen nicht|darfst nicht|auf keinen fall|unbedingt|ab sofort|verboten)\b",
    "fr": r"\b(?:toujours|jamais|ne dois pas|il faut|interdit|désormais|veille à|assure-toi|obligatoirement)\b",
    "it": r"\b(?:sempre|mai|non devi|devi|assicurati|vietato|d'ora in poi)\b",
    "ru": r"\b(?:никогда|всегда|нельзя|обязательно|должен|должна|должны|запрещено|не надо|отныне)\b",
    "ar": r"أبد[اًا]|ابدا|دائم[اًا]|دوم[اًا]|يجب|ممنوع|(?:^|\s)(?:و|ف)?لا ت\w+|يُ?منع|احرص|تأك[دّ]|من الآن فصاعد",
    "he": r"תמיד|לעולם|אף פעם|אסור|חובה|(?:^|\s)ו?אל ת\w+|חייב|הקפד|ודא|מעכשיו",
}
"""What makes a sentence a rule, by language; any of them counts wherever it stands."""

LIFTS: dict[str, str] = {
    "en": r"\byou (?:may|can|are (?:now )?(?:allowed|free) to)\b.*\b(?:now|again|after all|anymore|any more)\b"
          r"|\byou (?:may|can|are) now\b|\bno longer (?:need|have|necessary|required|applies|apply|forbidden)\b"
          r"|\b(?:don['’]t|do not) (?:need|have) to\b.*\b(?:any ?more|any longer|now)\b"
          r"|\b(?:forget|ignore|drop|lift|cancel|scrap|disregard|remove|scratch)\s+(?:about\s+)?(?:that|the|this|my)\b"
          r".{0,60}\b(?:rule|restriction|constraint|ban|limit|requirement|instruction)s?\b"
          r"|\bit(?:['’]s| is) (?:now )?(?:ok|okay|fine|allowed) (?:now )?to\b.*\bnow\b|\bis (?:now )?allowed (?:now|again)\b"
          r"|\b(?:that|the|this) (?:rule|restriction|constraint) (?:is|was) (?:gone|lifted|dropped|off|void|wrong)\b",
    "zh": "不用再|不必再|不需要再|无需再|現在可以|现在可以|现在允许|可以再次|取消(?:这|那|该|上面|之前).{0,8}(?:规则|限制|要求)|"
          "(?:忘掉|忘记|忽略|作废).{0,12}(?:规则|限制|要求)",
    "ja": "もう.{0,20}(?:なくていい|なくてよい|必要はない)|(?:今は|これからは).{0,30}(?:てもいい|てよい)|ルールは(?:忘れ|取り消)",
    "ko": "이제.{0,30}(?:해도 (?:돼|된|됩)|괜찮)|더 이상.{0,30}(?:않아도|필요)|규칙은 (?:잊|취소)",
    "es": r"\bya no (?:hace falta|es necesario|tienes que|debes)\b|\bya puedes\b|\bahora (?:sí )?puedes\b|\bolvida (?:esa|la) regla\b",
    "pt": r"\bnão precisa mais\b|\bagora (?:já )?pode\b|\besqueça (?:essa|a) regra\b",
    "de": r"\b(?:darfst|kannst|dürft) (?:du )?(?:jetzt|nun|wieder)\b|\bjetzt (?:darfst|kannst) du\b|\bnicht mehr (?:nötig|verboten)\b"
          r"|\bmusst (?:du )?nicht mehr\b|\bvergiss die regel\b",
    "fr": r"\btu peux (?:maintenant|désormais|à nouveau)\b|\bplus besoin de\b|\boublie (?:cette|la) règle\b",
    "it": r"\bora puoi\b|\bpuoi ora\b|\bnon (?:serve|occorre) più\b|\bdimentica (?:quella|la) regola\b",
    "ru": r"\b(?:теперь можно|больше не нужно|больше не надо|можешь теперь)\b|\bзабудь (?:это|про) правило\b",
    "ar": "يمكنك الآن|الآن يمكنك|لم يعد|لا حاجة بعد|انس هذه القاعدة",
    "he": "עכשיו מותר|מותר עכשיו|כבר לא צריך|אפשר עכשיו|שכח את הכלל",
}
"""What makes a sentence lift a rule, by language."""
