"""The rules a user stated, as the sentences they were stated in. Knows words of many languages, no grammar."""

import re

_CLAUSE = r"(?:^|[,;:–—-]\s+|\b(?:and|but|so|then|also|just|please|you|we|should|must|will|can)\s+)"
"""Where an English order begins; `I don't think` and `it seems to always fail` are none."""

WORDS = {
    "en": rf"{_CLAUSE}(?:never|always|do not|don[’']t|make sure|be sure to|ensure|avoid|prefer)\b"
          r"|^only\b|\b(?:must(?:n't)?|from now on|at all times|under no circumstances|is forbidden|not allowed)\b",
    "zh": "必须|必須|不要|总是|總是|禁止|请勿|請勿|一定|切勿|务必|務必|不得|不准|永远|只能|始终|以后都|不可以",
    "ja": "絶対|必ず|しないで|してはいけ|禁止|常に|べからず|ないでください|以後は",
    "ko": "항상|절대|반드시|하지\\s?마|금지|무조건|앞으로는",
    "es": r"\b(?:nunca|siempre|jamás|no debes?|debes?|asegúrate|prohibido|de ahora en adelante)\b",
    "pt": r"\b(?:sempre|jamais|não deve|deve|certifique-se|proibido|de agora em diante)\b",
    "de": r"\b(?:immer|niemals|nie|muss|darf nicht|dürfen nicht|auf keinen fall|unbedingt|ab sofort|verboten)\b",
    "fr": r"\b(?:toujours|jamais|ne dois pas|il faut|interdit|désormais|veille à|assure-toi|obligatoirement)\b",
    "it": r"\b(?:sempre|mai|non devi|devi|assicurati|vietato|d'ora in poi)\b",
    "ru": r"\b(?:никогда|всегда|нельзя|обязательно|должен|запрещено|не надо|отныне)\b",
}  # fmt: skip
"""What makes a sentence a rule, by language; any of them counts wherever it stands."""

_RULE = re.compile("|".join(WORDS.values()), re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n。！？]+?(?:[。！？]+|[.!?]+(?=\s|$)|(?=\n)|$)")
_BULLET = re.compile(r"^\s*(?:[-*+•>#]+|\d+[.)])\s+")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
SHORTEST, LONGEST = 4, 300
"""Characters of a sentence that can be a rule; a longer one is a paragraph that happens to hold the word."""
PASTED = 4000
"""Characters from which a message counts as pasted: its rules are somebody else's unless they stand at its edges."""
EDGE = 1200


def stated(text: str) -> list[str]:
    """The sentences of a user's message that state a rule, verbatim, in order. Questions and code are none."""
    own = text if len(text) < PASTED else f"{text[:EDGE]}\n{text[-EDGE:]}"
    found = (_BULLET.sub("", sentence).strip() for sentence in _SENTENCE.findall(_CODE.sub("\n", own)))
    return list(dict.fromkeys(sentence for sentence in found if _states(sentence)))


def _states(sentence: str) -> bool:
    return SHORTEST <= len(sentence) <= LONGEST and sentence[-1] not in "?？" and bool(_RULE.search(sentence))
