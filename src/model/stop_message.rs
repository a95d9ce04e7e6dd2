//! What a stop says: what happened, and what to do about it.

use super::{Credits, Halt, RequestId, Stop, budget::BudgetRefusal, clock::local_time, grouped::grouped};
use std::fmt;

impl fmt::Display for Stop {
    /// What happened, and what to do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Budget(BudgetRefusal::Limit { limit, charged, held, price }) => write!(
                f,
                "the next request costs {price} and would exceed the limit of {limit} credits: {charged} are charged and \
                 {held} are held; run again with a higher --max-credits"
            ),
            Stop::Budget(BudgetRefusal::Balance { spendable, price, keep }) => write!(
                f,
                "the next request costs {price}, and only {spendable} credits may be spent if a balance of {keep} is to \
                 be kept; top up the account or lower --keep-balance, and run again"
            ),
            Stop::Budget(BudgetRefusal::Unread) => f.write_str("the account's balance was never read; run again"),
            Stop::Price { check, stated, table, request: Some(RequestId(request)) } => write!(
                f,
                "the service states {stated} credits for `{check}`, expected at most {table}. If the amount \
                 is right, run again with --price {check}={stated}. If it is not, book the right amount with `rescreen \
                 resolve --charge N --request {request} --reason \"WHY\"` once the request has an answer, and run again with \
                 --continue-anyway"
            ),
            Stop::Price { check, stated, table, request: None } => write!(
                f,
                "the service charged {stated} credits for `{check}`, expected at most {table}: no reply stated \
                 the charge, but the balance fell by it while only this request was in flight. If the charge is right, \
                 run again with --price {check}={stated}. If another program spent the difference, run again with \
                 --continue-anyway"
            ),
            Stop::BalanceFell { credits, is_shared: true } => write!(
                f,
                "the balance fell by {credits} credits more than all workers of this account explain, so a price in the \
                 table may be too low, or another program spent the difference. Compare the charges with the service, \
                 and run again with the right --price CHECK=N, or with --continue-anyway"
            ),
            Stop::BalanceFell { credits, is_shared: false } => write!(
                f,
                "the balance fell by {credits} credits more than this campaign explains, and it does not show the charge of \
                 one request, so a price in the table may be too low. Compare the charges with the service, and run again \
                 with the right --price CHECK=N. If another program spent the credits, run again with --continue-anyway"
            ),
            Stop::AmountUnreadable { check, found } => write!(
                f,
                "a reply for `{check}` states the credits as `{found}`; expected a number of credits, at most {} times \
                 the price. Only the price was booked for it. Check the charge with the service, and set the field \
                 that states the amount with [service] charge_pointer or remaining_pointer: then only that field is \
                 read, and \"\" reads no field and relies on the account's balance alone. Run again with \
                 --continue-anyway; `rescreen resolve --charge N --request ID --reason \"WHY\"` corrects what was booked",
                Credits::ABSURD_TIMES
            ),
            Stop::NoCredits { balance, price } => write!(
                f,
                "the service says there are not enough credits (balance {balance}, table price {price}); top up the \
                 account or correct the price, and run again"
            ),
            Stop::Unauthorised { status: 401 } => f.write_str(
                "the service refuses the API key (HTTP 401); check it, or send it in the other header with [service] \
                 auth = \"bearer\" (or \"x-api-key\"), and run again",
            ),
            Stop::Unauthorised { status } => write!(
                f,
                "the service refuses the API key (HTTP {status}); check it and the header that carries it ([service] \
                 auth = \"x-api-key\" or \"bearer\"), and run again"
            ),
            Stop::CheckRefused { check, status } => write!(
                f,
                "the service refuses every request for `{check}` (HTTP {status}), but accepts the same API key for \
                 reading the balance; try the other header with [service.checks.{check}] auth, or ask the service whether \
                 this account may use `{check}`, and run again"
            ),
            Stop::Misrouted { status, path, location: Some(location), .. } => {
                write!(
                    f,
                    "the service redirects {path} (HTTP {status}) to {location}. Nothing is sent there, because it may be \
                     a sign-in page or another service"
                )?;
                match location.strip_suffix(path.as_str()).filter(|url| url.starts_with("https://")) {
                    Some(url) => write!(
                        f,
                        ". If the service has moved there, set [service] url = \"{url}\" and run again with \
                         --service-moved-from and its old URL: the ledger moves with it, and nothing is paid twice"
                    ),
                    None => f.write_str("; check [service] url and the network, then run again"),
                }
            }
            Stop::Misrouted { status, path, check: Some(check), .. } => write!(
                f,
                "the service does not know the route {path} (HTTP {status}); check [service] url, or try the other \
                 spelling of the route with [service.checks.{check}] routes = \"alternate\" (or \"guide\"), if `rescreen \
                 checks {check}` lists one"
            ),
            Stop::Misrouted { status, path, check: None, .. } => {
                write!(f, "the service does not know the route {path} (HTTP {status}); check [service] url")
            }
            Stop::JobRoute { check, status, count } => write!(
                f,
                "the service answers HTTP {status} to the last {count} jobs of `{check}` that were asked for; nothing \
                 was lost, and nothing is sent again. Compare `status` under [job] in `rescreen checks {check} --toml` \
                 with the service's documentation, correct it in the campaign file, and run again"
            ),
            Stop::JobUnusable { check, fault } => write!(
                f,
                "the service accepts requests of `{check}` as jobs that cannot be followed: {fault}. These requests may be \
                 charged, and are kept in doubt. Ask the service how its jobs are named, correct `id` under [job] \
                 (`rescreen checks {check} --toml` shows it) in the campaign file, and run again with --continue-anyway: \
                 the same keys get the same jobs"
            ),
            Stop::Unavailable { message } => {
                write!(
                    f,
                    "the service does not answer ({message}); everything paid for is safe. Run again later; if it has \
                     never answered, check [service] url and the network first"
                )
            }
            Stop::Untrusted { host, fault } => write!(
                f,
                "the certificate of {host} is not trusted: {fault}; nothing was sent to it. Check [service] url and \
                 this machine's clock, or name the PEM file of your own certificate authority with [service] ca_file, \
                 and run again"
            ),
            Stop::NotTheService { found } => write!(
                f,
                "expected an answer from the service, found something else in several replies in a row ({found}), such \
                 as a sign-in page, a page of a firewall or proxy, or another service; check [service] url and the \
                 network, then run again"
            ),
            Stop::NewWait => f.write_str(
                "no new request was sent, because answers to earlier requests could not be read and may have been paid \
                 for; new ones are sent once one of those is answered. Run again later, or send new ones now with \
                 --continue-anyway",
            ),
            Stop::Intercepted { requests, found } => write!(
                f,
                "{} ({found}), such as a page of a firewall or proxy, and others were answered; no row failed for it. \
                 Let these requests through to the service, then run again",
                match requests {
                    1 => "1 request had a reply that is not the service's".to_owned(),
                    requests => format!("{} requests had replies that are not the service's", grouped(*requests)),
                }
            ),
            Stop::Conflict { count, has_webhook } => f.write_str(&super::conflicts::conflicts(*count, *has_webhook)),
            Stop::OtherMode { sent, echoed } => write!(
                f,
                "an answer states the mode {echoed}, but {sent} was sent: its content is not trusted (verdict \
                 `review`). Check that the API key and [service] url are those for {sent}, then run again"
            ),
            Stop::Kept { message, at_us, .. } => write!(
                f,
                "nothing was sent: the run of {} stopped, and its cause has not changed since. It said: {message}. To \
                 run anyway, add --continue-anyway",
                local_time(*at_us)
            ),
            Stop::Halted(Halt { message, worker, at_us, .. }) => write!(
                f,
                "nothing more was sent: {worker} found at {} that something is wrong with the account, which stops all \
                 workers that share it. It said: {message}. Once that is done, `rescreen book resume --reason \"WHY\"` \
                 lets all of them send again",
                local_time(*at_us)
            ),
            Stop::Elsewhere { requests } => write!(
                f,
                "{} the same content as requests that another partition of the campaign has sent and has no answer to yet; let that \
                 partition end first, then run this one again",
                if *requests == 1 { "1 request has".to_owned() } else { format!("{requests} requests have") }
            ),
            Stop::Book { fault, is_away: true } => {
                write!(f, "nothing more was sent: {fault}. Everything paid for is safe; run again later")
            }
            Stop::Book { fault, is_away: false } => {
                write!(f, "nothing more was sent: {fault}. Everything paid for is safe")
            }
            Stop::BalanceUnreadable => f.write_str(
                "expected a balance in the answer of GET /my_credits, found none; say where it is with [service] \
                 balance_pointer = \"/path/to/number\" and run again; an account without a balance in credits is not \
                 supported in production",
            ),
            Stop::PushedBack { until_us } => {
                write!(
                    f,
                    "the service is rate-limiting us until {}; run again after that, or with --lift-pause to send now",
                    local_time(*until_us)
                )
            }
            Stop::CheckPaused { check, until_us } => {
                let when = until_us.map_or_else(String::new, |until_us| format!(" after {}", local_time(until_us)));
                write!(
                    f,
                    "the service limits the rate of `{check}`, while it answers other checks; the requests of `{check}` \
                     that were not sent are kept: run again{when}"
                )
            }
            Stop::ClockDiffers { seconds } => write!(
                f,
                "this machine's clock and the service's clock are {seconds} seconds apart, and what happens to \
                 requests in doubt depends on their age; set the clock and run again"
            ),
            Stop::UnknownService { url } => write!(
                f,
                "nothing was sent: only the ledger says that its requests belong to {url}, and none of your runs on \
                 this machine has sent this API key there with the same settings. If that is the right service, run \
                 again with --service {url}; a proxy, a CA file and declarations are read only from the campaign file, \
                 with -c FILE"
            ),
            Stop::OtherRoute { check } => write!(
                f,
                "requests in doubt of `{check}` were sent to a route that `{check}` no longer has, and a key is sent \
                 again only to its own route; restore the route in the declaration and run again, or decide with \
                 `rescreen resolve --list --include-in-doubt`"
            ),
            Stop::OtherBody { check, differs } => write!(
                f,
                "nothing more of `{check}` is sent: its declaration changed what requests contain, and the body of a row \
                 that was read before is not one of its bodies: {differs}. Bodies are recorded when rows are read, and do \
                 not change within a campaign. Restore that part of the declaration and run again; or check the rows \
                 without an answer in a new campaign with the changed declaration, with --campaign NAME"
            ),
            Stop::FilesChanged { check, first } => write!(
                f,
                "requests in doubt of `{check}` cannot be repeated, because their files changed: {first}. A key is \
                 repeated only with the same bytes; restore the files and run again, or decide with `rescreen resolve \
                 --list --include-in-doubt`"
            ),
            Stop::UploadUnusable { check, fault } => write!(
                f,
                "no document of `{check}` is uploaded, because the service's reply to an upload cannot be followed: \
                 {fault}. Nothing was charged for it"
            ),
            Stop::UploadCharged { check, credits } => write!(
                f,
                "no more documents of `{check}` are uploaded, because the service's reply to an upload states a charge, \
                 although an upload should be free; {credits} credits are booked for it. Ask the service about the \
                 charge, then run again with --continue-anyway"
            ),
            Stop::OtherSide { simulated: true } => {
                f.write_str("the simulator answered a campaign of the real service; check [service] url")
            }
            Stop::OtherSide { simulated: false } => f.write_str(
                "the real service answered a campaign that was started with the simulator; start a new campaign for it",
            ),
            Stop::TooManyErrors { failed, of, stage } => write!(
                f,
                "{} of {} failed to {stage}, more than --max-errors allows; check failures/, fix the mapping or the \
                 input, and run again",
                grouped(*failed),
                grouped(*of)
            ),
            Stop::SameRefusals { count, message } => write!(
                f,
                "{count} requests in a row were refused with the same message ({message}); check failures/ and fix \
                 what they have in common; run --retry refused sends them again (an explicit --max-errors disables \
                 this guard)"
            ),
            Stop::Unrecognised { check, unrecognised, of } => write!(
                f,
                "{unrecognised} of {of} answers of `{check}` have none of the fields that its rules read; check the \
                 column `answer` in pending/ and correct the declaration (`rescreen checks {check} --toml`); answers \
                 that are already paid for are judged again by it, and are not paid for again"
            ),
            Stop::ExpectedRows { found, least, most } => {
                let range = if least == most { String::new() } else { format!(" to {}", grouped(*most)) };
                write!(
                    f,
                    "expected {}{range} rows (--expect-rows), found {} in the input; check the input, or correct \
                     --expect-rows",
                    grouped(*least),
                    grouped(*found)
                )
            }
            Stop::InputFailed => f.write_str("the rest of the input cannot be read"),
            Stop::TimeIsUp => f.write_str("the time given with --for is up; run again to continue"),
            Stop::Interrupted => f.write_str("interrupted; run again to continue"),
            Stop::Terminated => f.write_str("terminated; run again to continue"),
        }
    }
}
