"""One draft after another on the way to a brief: mended, put together, held against the evidence, remembered."""

import msgspec

from clew.compact import ledger, repair
from clew.compact.audit import Draft, Evidence, audit, blocking
from clew.compact.brief import TURN
from clew.compact.compose import Below, Composed, below, compose
from clew.compact.evidence import collect, left_out, losses, settle
from clew.compact.job import Accepted, Failure, Job, Refused
from clew.compact.repair import Mended
from clew.transcript import Attempt, Finding, Verdict

PROSE_SHARE = 0.5
"""Of a brief's budget that a model's prose may take; what it leaves goes to the ledger."""

MOST_LOST = 200
"""Lost identifiers that are named; all are counted."""


class Review:
    """The drafts of one compaction and what became of them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        known = job.previous.ledger if job.previous else None
        self.ledger = settle(ledger.gather(job.cut.dropped, known), job.cut.tail)
        self.evidence: Evidence = collect(
            job.cut, job.previous, self.ledger, strict=job.strict, focus=job.focus, budget=job.budget
        )
        self.attempts: list[Attempt] = []
        self.findings: tuple[Finding, ...] = ()

    def failed(self, failure: Failure) -> None:
        """Remember a request that brought no draft."""
        self.attempts.append(Attempt(self.job.writer or self.job.given_by, failure=failure.code))

    def examine(
        self, draft: str, *, turn: str = "", writer: str | None = None, cut_off: bool = False
    ) -> Accepted | None:
        """The brief made of a draft, if it passes once rules have put back what may not be missing."""
        by = writer or self.job.writer or self.job.given_by
        prose, cut = self._prose(draft, turn)
        if not prose:
            self.findings = (Finding("empty"),)
            self.attempts.append(Attempt(by, self.findings))
            return None
        return self._settle(Mended(prose, dropped=cut), by, cut_off=cut_off)

    def salvage(self, draft: str, *, turn: str = "") -> Accepted | None:
        """The last draft with all that is wrong taken out, if what is left passes."""
        prose, cut = self._prose(draft, turn)
        if not prose:
            return None
        stripped = repair.strip(prose, self.evidence)
        text = repair.complete(stripped.text) if self.job.fallback == "ledger" else stripped.text
        return self._settle(
            Mended(text, dropped=(*cut, *stripped.dropped)), self.job.writer or self.job.given_by, again=True
        )

    def by_rules(self) -> Accepted | Refused:
        """A brief from the ledger alone: it needs no model and always carries the five headings."""
        under = below(self.job, self.ledger, budget=self._limit(), first=self.evidence.identifiers)
        composed = compose("", under, self.evidence.source)
        findings = audit(Draft(composed.text, ""), self.evidence)
        size = self.job.count(composed.text)
        self.attempts.append(Attempt("ledger", findings, tokens=size))
        if size >= self.job.replaced:
            return Refused("not_smaller", tuple(self.attempts))
        return self._accepted(composed, Verdict("fallback", losses=composed.losses), model=None)

    def give_up(self, code: str, detail: str = "") -> Accepted | Refused:
        """The last rung: rules write the brief where the settings say so, else nothing is written."""
        return self.by_rules() if self.job.fallback == "ledger" else Refused(code, tuple(self.attempts), detail)

    def _limit(self) -> int:
        """What a brief may take: its budget, and always less than what it replaces."""
        return min(self.job.budget, max(1, self.job.replaced - 1))

    def _prose(self, draft: str, turn: str) -> tuple[str, tuple[str, ...]]:
        """A draft's five sections and the split turn's, to size, with the lines that the budget took."""
        prose = repair.normalise(draft)
        if prose and (started := repair.plain_lines(turn)):
            prose = f"{prose}\n\n{TURN}\n{started}"
        short = repair.shorten(prose, int(self._limit() * PROSE_SHARE), self.job.count)
        return short.text, short.dropped

    def _settle(self, mended: Mended, by: str, *, again: bool = False, cut_off: bool = False) -> Accepted | None:
        """Put back, put together, audit; `again` replaces the findings of the attempt by what is left of them."""
        if self.job.guard:
            unbound = repair.unbind(mended.text, self.evidence)
            mended = Mended(unbound.text, dropped=(*mended.dropped, *unbound.dropped))
        under = self._under(mended.text)
        restored = repair.restore(mended.text, under.text, self.evidence)
        composed = compose(restored.text, under, self.evidence.source)
        size = self.job.count(composed.text)
        findings = audit(Draft(composed.text, composed.prose, cut_off), self.evidence) if self.job.guard else ()
        if size >= self.job.replaced:
            findings = (*findings, Finding("not_smaller", f"{size} tokens for {self.job.replaced}"))
        if not again:
            self.findings = findings
            self.attempts.append(Attempt(by, findings, tokens=size))
        if blocking(findings):
            return None
        mended_at_all = again or restored.restored or mended.dropped
        verdict = Verdict(
            "repaired" if mended_at_all else "accepted",
            restored=restored.restored,
            dropped=mended.dropped,
            losses=composed.losses,
        )
        return self._accepted(composed, verdict, model=by)

    def _under(self, prose: str) -> Below:
        required = self.evidence.identifiers
        return below(self.job, self.ledger, budget=self._limit() - self.job.count(prose), prose=prose, first=required)

    def _accepted(self, composed: Composed, verdict: Verdict, model: str | None) -> Accepted:
        lost, total = losses(self.evidence.source, composed.text, self.job.cut.tail, most=MOST_LOST)
        verdict = msgspec.structs.replace(verdict, attempts=tuple(self.attempts))
        other = left_out(self.ledger, composed.text, self.job.cut.tail)
        return Accepted(composed.text, composed.lines, verdict, self.ledger, model, lost, total, other)
