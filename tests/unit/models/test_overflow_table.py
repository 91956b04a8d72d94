"""Every refusal that was reported, and the class that lets a session go on."""

import pytest

from clew.models.overflow import RULES, Complaint, classify, read_body

TOKENS, BYTES, OUTPUT, RATE, QUOTA = "overflow_tokens", "overflow_bytes", "output_limit", "rate_limit", "quota"

REPORTED = [  # spec/faults.md, section 5
    (400, "prompt is too long: 205030 tokens > 200000 maximum", TOKENS),
    (400, "Context size has been exceeded.", TOKENS),
    (400, "400 request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it", TOKENS),
    (400, "code 1210: tokens in request more than max tokens allowed", TOKENS),
    (400, "The input (263000 tokens) is longer than the model's context length (262144 tokens).", TOKENS),
    (None, "Codex ran out of room in the model's context window. Start a new thread or clear it", TOKENS),
    (400, "ValidationException: The input is too long", TOKENS),
    (400, "Input exceeds the max input token limit", TOKENS),
    (None, "ModelStreamErrorException: Input is too long", TOKENS),
    (None, "ollama: context length exceeded for llama3", TOKENS),
    (400, "total tokens exceeds the model's max of 4096", TOKENS),
    (400, "input is too long for model gpt-5.4", TOKENS),
    (400, "input length and `max_tokens` exceed context limit: 196758 + 8192 > 200000", TOKENS),
    (400, "The input token count (1058724) exceeds the maximum number of tokens allowed (1048576).", TOKENS),
    (400, "This model's maximum context length is 1048576 tokens. However, you requested 1051540 tokens", TOKENS),
    (400, "maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, "
          "131072 in the output)", OUTPUT),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", TOKENS),
    (400, "prompt token count of 1459028 exceeds the limit of 922000", TOKENS),
    (None, "model_context_window_exceeded", TOKENS),
    (None, "413 Request Entity Too Large", BYTES),
    (413, "<html><title>413 Request Entity Too Large</title></html>", BYTES),
    (None, "Request Entity Too Large", BYTES),
    (413, "Request too large (max 32MB). Accumulated images are the usual cause", BYTES),
    (None, "invalid request (HTTP 413): Request exceeds the maximum size", BYTES),
    (400, "上下文过长，请压缩上下文", TOKENS),
    (413, "413 Request too large for model `x` on tokens per minute (TPM): Limit 8000, Requested 21004", TOKENS),
    (429, "Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Requested 18234.", TOKENS),
    (429, "Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Used 5900, Requested 400.", RATE),
    (429, "429 Extra usage is required for long context requests", "other"),
    (429, "429 You exceeded your current quota, please check your plan and billing details", QUOTA),
    (429, "Too many tokens per day, please wait before trying again.", RATE),
    (None, "Too many tokens per day, please wait before trying again.", RATE),
    (None, "Throttling error: Too many tokens, please wait before trying again.", RATE),
    (400, "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1", "pair_error"),
    (400, "The conversation must end with a user message (no prefill)", "order_error"),
]  # fmt: skip

WORDINGS = [  # spec/context.md, section 4.1, and what servers say today
    (400, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens.",
     TOKENS),
    (400, "input is too long for requested model", TOKENS),
    (400, "This endpoint exceeds the model's maximum context length of 8192 tokens", TOKENS),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", TOKENS),
    (400, "Please reduce the length of the messages or completion.", TOKENS),
    (400, "exceeds the maximum allowed input length of 4096 tokens", TOKENS),
    (None, "The number of tokens to keep from the initial prompt is greater than the context length.", TOKENS),
    (None, "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context "
           "length of only 4096 tokens, which is not enough.", TOKENS),
    (400, "invalid params, context window exceeds limit (2013)", TOKENS),
    (400, "Your request exceeded model token limit: 131072 (requested: 140000)", TOKENS),
    (400, "Prompt exceeds max length", TOKENS),
    (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
     TOKENS),
    (400, "The prompt has 9000 tokens, but the configured context size is 8192 tokens", TOKENS),
    (400, "prompt too long; exceeded max context length by 4 tokens", TOKENS),
    (400, "token limit exceeded", TOKENS),
    (413, "413 status code (no body)", BYTES),
    (None, "413 status code (no body)", BYTES),
    (400, "context_overflow", TOKENS),
    (400, "INVALID_ARGUMENT: input exceeds the maximum number of tokens", TOKENS),
    (400, "this request exceeds model context window", TOKENS),
    (None, "request size exceeds the model's context window", TOKENS),
    (None, "Context overflow: estimated context size exceeds safe threshold", TOKENS),
    (400, "input length 9000 tokens exceeds the model limit of 8192", TOKENS),
    (400, "输入过长", TOKENS),
    (400, "超出最大上下文", TOKENS),
    (400, "content_filter: the prompt is too long", TOKENS),
    (None, "ollama: truncating input, which is too long", TOKENS),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292", TOKENS),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and "
          "1 `max_new_tokens`", TOKENS),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", TOKENS),
    (500, "the context of this request overflows, an overflow", TOKENS),
    (400, "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-x", OUTPUT),
    (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", OUTPUT),
    (400, "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 "
          "tokens and your request has 300 input tokens (8192 > 8192 - 300).", OUTPUT),
    (400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
     "pair_error"),
    (400, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
     "pair_error"),
    (400, "No tool output found for function call call_1.", "pair_error"),
    (400, "Please ensure that function call turn comes immediately after a user turn", "pair_error"),
    (400, "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks", "pair_error"),
    (400, "Conversation roles must alternate user/assistant/user/assistant/...", "order_error"),
    (400, "messages: first message must use the \"user\" role", "order_error"),
    (429, "Too Many Requests", RATE),
    (529, "Overloaded", RATE),
    (503, "The service is busy", RATE),
    (503, "context size has been exceeded", TOKENS),
    (429, "Rate limit reached: Limit 6000, Used 5900. Upgrade at https://console.groq.com/settings/billing", RATE),
    (402, "Payment required", QUOTA),
    (400, "Your credit balance is too low to access the Anthropic API.", QUOTA),
    (401, "invalid x-api-key: the prompt is too long", "auth"),
    (403, "Your key may not use this model", "auth"),
]  # fmt: skip

NOT_OVERFLOW = [  # spec/context.md, section 4.3
    (400, "Context window is too small, the minimum is 16000"),
    (400, "reasoning is mandatory for this model and the prompt exceeds nothing"),
    (400, "prompt template exceeds what can be parsed"),
    (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
    (404, "The model `x` does not exist or you do not have access to it."),
    (500, "Internal server error"),
    (None, ""),
]


@pytest.mark.parametrize(("status", "text", "kind"), [*REPORTED, *WORDINGS], ids=lambda value: str(value)[:60])
def test_a_refusal_is_classed_as_what_lets_the_session_go_on(status, text, kind):
    assert classify(status, None, None, text).kind == kind


@pytest.mark.parametrize(("status", "text"), NOT_OVERFLOW)
def test_what_only_sounds_like_overflow_is_none(status, text):
    assert classify(status, None, None, text).kind == "other"


@pytest.mark.parametrize(
    ("status", "code", "kind", "text", "wanted"),
    [
        pytest.param(400, "context_length_exceeded", None, "?", TOKENS, id="OpenAI's code"),
        pytest.param(400, "400", "exceed_context_size_error", "?", TOKENS, id="llama.cpp's type"),
        pytest.param(413, None, "request_too_large", "?", BYTES, id="Anthropic's bytes"),
        pytest.param(429, "insufficient_quota", "insufficient_quota", "Rate limit", QUOTA, id="quota before words"),
        pytest.param(None, None, "overloaded_error", "Overloaded", RATE, id="inside a stream"),
        pytest.param(429, "rate_limit_exceeded", "tokens", "too many tokens", RATE, id="code before words"),
        pytest.param(400, None, "authentication_error", "prompt is too long", "auth", id="type before words"),
    ],
)
def test_structured_fields_come_before_words(status, code, kind, text, wanted):
    assert classify(status, code, kind, text).kind == wanted


@pytest.mark.parametrize(
    ("text", "limit", "requested", "given", "room"),
    [
        (REPORTED[0][1], 200000, 205030, None, None),
        (REPORTED[2][1], 65536, 66202, None, None),
        (REPORTED[4][1], 262144, 263000, None, None),
        (REPORTED[12][1], 200000, 204950, 196758, 3242),
        (REPORTED[13][1], 1048576, 1058724, None, None),
        (REPORTED[14][1], 1048576, 1051540, None, None),
        (REPORTED[15][1], 131072, 138956, 7884, 123188),
        (REPORTED[17][1], 922000, 1459028, None, None),
        (
            "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens",
            64000,
            200000,
            None,
            64000,
        ),
        ("prompt is too long: 1,000,001 tokens > 1,000,000 maximum", 1000000, 1000001, None, None),
        ("Your request exceeded model token limit: 131072 (requested: 140000)", 131072, 140000, None, None),
        ("Context size has been exceeded.", None, None, None, None),
    ],
)
def test_the_numbers_are_read(text, limit, requested, given, room):
    found = classify(400, None, None, text)
    assert (found.limit, found.requested, found.input, found.room) == (limit, requested, given, room)


def test_a_request_above_the_ceiling_of_a_minute_is_terminal():
    found = classify(413, "rate_limit_exceeded", "tokens", REPORTED[25][1])
    assert found == Complaint(TOKENS, 8000, 21004, terminal=True, rule=RULES[0].name)


def test_a_refusal_is_not_read_beyond_its_beginning():
    assert classify(400, None, None, "bad field" + " " * 5000 + "prompt is too long").kind == "other"


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"error": {"message": "m", "type": "t", "code": 400}}, ("400", "t", "m")),
        ({"message": "m", "type": "t", "code": None}, (None, "t", "m")),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, (None, "overloaded_error", "m")),
        ({"message": "Provider returned error", "metadata": {"raw": "too long"}}, (None, None, "Provider returned "
          "error\ntoo long")),
        ("<html>413</html>", (None, None, "<html>413</html>")),
        (None, (None, None, "")),
    ],
)  # fmt: skip
def test_a_body_is_read_wherever_the_provider_put_its_words(body, read):
    assert read_body(body) == read


def test_every_row_of_the_table_has_a_name_of_its_own():
    assert len({rule.name for rule in RULES}) == len(RULES)
