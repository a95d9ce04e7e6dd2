"""Checks for tests/schemathesis.sh: which replies of the simulator are failures."""

import schemathesis

# 500 answers the reserved sandbox inputs that end in 91. 502 and 503 are documented failures of the service.
SIMULATED = {500: "reserved sandbox input", 502: "processing", 503: "ASYNC_FALLBACK_REQUIRES_WEBHOOK"}


@schemathesis.check
def no_unsimulated_server_error(ctx, response, case):
    """A 5xx is a failure, except those that the simulated service answers on purpose."""
    status = response.status_code
    if status < 500:
        return
    text = response.text
    assert status in SIMULATED and SIMULATED[status].lower() in text.lower(), f"unexpected {status}: {text[:200]}"
