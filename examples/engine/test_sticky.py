"""The engine keeps the contract that every engine keeps, and its own promise. Run it with `python -m pytest`."""

from clew_sticky import HEAD, Sticky

from clew.engine.port import ContextEngine, Host
from clew.testing import EngineContract
from clew.testing.engine_scene import EngineScene
from clew.transcript import text_of


class TestSticky(EngineContract):
    def make(self, host: Host) -> ContextEngine:
        return Sticky(host)

    def test_a_note_is_shown_again_when_the_view_has_lost_it(self) -> None:
        scene = self.scene()
        scene.say("remember: the pager code is 4711", "thanks")
        assert HEAD not in last(scene), "it is in view already"
        scene.talk.reset()
        scene.say("hello")
        assert last(scene) == f"hello\n{HEAD}\n- the pager code is 4711"
        scene.say("forget: the pager code is 4711")
        scene.talk.reset()
        scene.say("hello")
        assert last(scene) == "hello"

    def test_a_note_of_another_process_is_known(self) -> None:
        first = self.scene()
        first.say("Good morning.\nRemember: 部署在主机 web-7 上")
        first.talk.reset()
        second = self.scene(store=first.store)
        second.say("hello")
        assert "- 部署在主机 web-7 上" in last(second)


def last(scene: EngineScene) -> str:
    """The words of the last request."""
    return "\n".join(map(text_of, scene.sent()[-1].messages))
