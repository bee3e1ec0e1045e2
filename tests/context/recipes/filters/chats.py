"""Random lists of messages, well-formed and odd, and what providers ask of them."""

from hypothesis import strategies as st

ids = st.sampled_from(["c1", "c2", "c3", "ид😀"])
odd_ids = st.one_of(ids, st.sampled_from([1, 1.0, True, None, "", "1", 0]), st.just([]))
words = st.text(st.sampled_from('ab \n"\\é日😀\x01\ud83d'), max_size=20)
contents = st.one_of(
    words, st.none(), st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": words}), max_size=2)
)
extras = {"docId": st.sampled_from(["d1", "d2", "d3"]), "cost": st.floats(0, 1), "name": st.just("f")}


def calls(names):
    call = st.builds(
        lambda name, path: {
            "id": name,
            "type": "function",
            "function": {"name": "f", "arguments": f'{{"filepath":"{path}","content":"of {path}"}}'},
        },
        names,
        st.sampled_from("xyz"),
    )
    return st.lists(call, min_size=1, max_size=3)


def chats(names=ids, *, most=14, strange=False):
    """Messages in OpenAI's shape, in any order; with `strange`, also what is hardly a message."""
    said = st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]), "content": contents}, optional=extras
    )
    called = st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": contents, "tool_calls": calls(names)}, optional=extras
    )
    result = st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": names, "content": contents | files}, optional=extras
    )
    messages = st.one_of(said, called, result)
    if strange:
        messages = st.one_of(messages, messages, messages, oddities)
    return st.lists(messages, max_size=most)


files = st.builds(
    lambda path, text: f'{{"filepath":"{path}","content":"{text}"}}',
    st.sampled_from("xyz"),
    st.sampled_from("12"),
)
oddities = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.just("Tool calls completed"),
    st.just({}),
    st.just({"role": 5, "content": 7}),
    st.just({"role": "assistant", "tool_calls": "none"}),
    st.just(
        {"role": "assistant", "tool_calls": [None, 5, {}, {"function": None}, {"id": "c1", "function": "f"}]}
    ),
    st.just({"role": "tool"}),
    st.just({"role": "user", "content": "Tool calls completed"}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": odd_ids, "content": contents}),
    st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": calls(odd_ids)}),
)
