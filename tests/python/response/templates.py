"""Response templates of all kinds, and pieces that answers are drawn from."""

from __future__ import annotations

from typing import Any

from transformers.cli.serving import utils as serving

_CALL = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string"},
                    "days": {"type": "integer"},
                    "height": {"type": ["number", "null"]},
                    "exact": {"type": "boolean"},
                    "names": {"type": "array"},
                    "more": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                    "maybe": {"type": "string", "nullable": True},
                },
            },
        },
    }
]


def _named(types: tuple[str, ...]) -> str:
    return types[0]


# Those that transformers has for models whose files have none, and others.
TEMPLATES: dict[str, dict[str, Any]] = {
    **{_named(types): template for types, template in serving._RESPONSE_TEMPLATE_FALLBACKS.items()},
    "actions": {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|CHATBOT|>",
        "fields": {
            "content": {"open": "<|RESPONSE|>", "close": "<|END|>"},
            "thinking": {"open": "<|THINKING|>", "close": "<|END|>"},
            "tool_calls": {
                "open": "<|ACTION|>",
                "close": "<|END|>",
                "content": "json",
                "transform_each": True,
                "transform": {
                    "type": "function",
                    "function": {"name": "{tool_name}", "arguments": "{parameters}"},
                },
            },
        },
    },
    "beginning": {
        "defaults": {"role": "assistant", "content": None},
        "start_anchor_pattern": r"\[(?:model|MODEL)\]",
        "fields": {
            "thinking": {"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"},
            "content": {"open": "<response>\n", "close_pattern": r"\n?</response>"},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "json",
                "transform": {"type": "function", "function": "{content}"},
            },
        },
    },
    "channels": {
        "start_anchor": "<|start|>assistant",
        "fields": {
            "thinking": {"open": "<|channel|>analysis<|message|>", "close": "<|end|>"},
            "content": {
                "open_pattern": r"<\|channel\|>(?:final|other)<\|message\|>",
                "close": ["<|end|>", "<|end|><|more|>"],
                "repeats": True,
                "join": " + ",
                "content_args": {"strip": False},
            },
            "tool_calls": {
                "open_pattern": r"<\|channel\|>commentary to=(?P<name>\w+).*?<\|message\|>",
                "close": "<|call|>",
                "repeats": True,
                "content": "json",
                "content_args": {"allow_non_json": True},
                "transform": _CALL,
            },
        },
    },
    "parameters": {
        "start_anchor": "assistant\n",
        "fields": {
            "content": {"close_pattern": r"$"},
            "tool_calls": {
                "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>",
                    "merge_duplicates": True,
                },
                "transform": _CALL,
            },
            "typed": {
                "open": "<typed>",
                "close": "</typed>",
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</\1>".replace(r"</\1>", "</>"),
                    "value_parser": {"name": "json", "args": {"allow_non_json": True}},
                },
            },
        },
    },
    "values": {
        "start_anchor": ">",
        "fields": {
            "count": {"open": "#", "close": ";", "content": "int"},
            "size": {"open": "%", "close": ";", "content": "float"},
            "is_so": {"open": "?", "close": ";", "content": "bool", "repeats": True},
            "pairs": {
                "open": "{{",
                "close": "}}",
                "content": "kv-lines",
                "content_args": {"value_parser": {"name": "int"}, "line_sep": ",", "kv_sep": "="},
            },
            "lines": {"open": "[[", "close": "]]", "content": "kv-lines"},
            "dialect": {
                "open": "((",
                "close": "))",
                "content": "json",
                "content_args": {
                    "unquoted_keys": True,
                    "string_delims": [["'", "'"], ["<<", ">>"]],
                },
            },
            "needed": {"open_pattern": r"!+", "close_pattern": r"\n+|\Z", "optional": False},
            "text": {"close_pattern": r"\.(?=\s)"},
        },
    },
}

# Of any answer: markers of the templates, and what may be between them.
PIECES: tuple[str, ...] = (
    *("Hello", " ", "\n", "\n\n", "  x ", "é", "日本", ". ", ";", "<", "<|", "|>", "</", ">"),
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>"),
    *('{"name": "get_weather", "arguments": {"place": "Brest", "days": "3"}}', '{"name": "f"}'),
    *('{"a": 1', "{}", "[]", '["x", 2.50, true, null]', "null", '{"tool_name": "f"}'),
    '[{"tool_name": "f", "parameters": {"a": [1, -0.5e3]}}, {"tool_name": "g", "parameters": {}}]',
    *("<function=get_weather>", "</function>", "<parameter=days>7</parameter>"),
    *("<parameter=place>\n7\n</parameter>", "<parameter=height> 1e3 </parameter>"),
    *("<parameter=exact>True</parameter>", '<parameter=names>["a"]</parameter>'),
    *("<parameter=more>null</parameter>", "<parameter=days>3.0</parameter>"),
    *("<parameter=days>x</parameter>", "<parameter=maybe>None</parameter>"),
    *("<parameter=height>2.0</parameter>", "<parameter=unknown>1</parameter>"),
    *("<|tool_call>call:get_weather", "<tool_call|>", '{place:<|"|>Brest<|"|>,days:2}'),
    *("<|channel>thought\n", "<channel|>", "<turn|>", "<eos>", "<|tool_response>"),
    *("<|RESPONSE|>", "<|THINKING|>", "<|ACTION|>", "<|END|>", "<response>\n", "\n</response>"),
    *("<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>", "<|more|>"),
    *("<|channel|>commentary to=get_weather json<|message|>", "<|call|>", "<|message|>"),
    *("<typed>", "</typed>", "<a>1</>", "<b> x </>", "#", "%", "?", " 12 ", "-1.5", "1_0", "true"),
    *("{{", "}}", "[[", "]]", "a=1,b = 2", "k: v\nw:x", "((", "))", "{a: 'it''s', b: <<c>>}", "!!"),
    *("{'k': 1}", "ab", "0"),
)

PROMPTS: tuple[str, ...] = (
    *("", "Hi", "<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n", "[model]"),
    *("<|CHATBOT|>x<|END|><|CHATBOT|><|THINKING|>", "<|start|>assistant", "assistant\n", "a>b>"),
    *(
        "<|turn>model\n<|channel>thought\n",
        "[model]a[MODEL]<think>",
        "<|im_start|>assistant\n<think",
    ),
)
