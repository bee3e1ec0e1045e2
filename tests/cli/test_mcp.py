"""`weft mcp` before it speaks: what it was told must make sense."""

from tests.covers import covers


@covers("mcp.configured")
def test_what_makes_no_sense_is_refused_before_anything_is_served(desk):
    desk("new", "T")
    for words, said in (
        (("--allow", "loom_write"), "loom_write requires loom_aware"),
        (("--allow", "everything"), "'everything' is not a permission"),
        (("--read-only", "--allow", "loom_aware"), "--read-only and --allow exclude each other"),
        (("--http", "--port", "70000"), "65535"),
    ):
        answer = desk("mcp", *words)
        assert answer.code != 0
        assert answer.out == ""
        assert said in answer.err
