//! The metrics of a run as text for Prometheus: a pure function of the progress. Names follow Prometheus's conventions:
//! base units, `_total` for counts that only grow, HELP and TYPE for each. Labels are names of checks, states, verdicts
//! and failure codes, never anything of a row.

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode_registry},
    metrics::{MetricType, counter::ConstCounter},
    registry::{Registry, Unit},
};
use rescreen::{
    ledger::UNREADABLE_ROWS,
    model::state::State,
    pipeline::{BOUNDS_MS, Progress},
};
use std::fmt;

/// The media type of [`exposition`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics as text, in the OpenMetrics format, which Prometheus reads.
pub fn exposition(progress: Progress, now_us: i64) -> String {
    let mut registry = Registry::with_prefix("rescreen");
    registry.register_collector(Box::new(Snapshot { progress, now_us }));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode_registry(&mut text, &registry);
    text.push_str("# EOF\n");
    text
}

#[derive(Debug)]
struct Snapshot {
    progress: Progress,
    now_us: i64,
}

impl Collector for Snapshot {
    fn encode(&self, mut to: DescriptorEncoder) -> fmt::Result {
        self.counters(&mut to)?;
        self.amounts(&mut to)?;
        self.latency(&mut to)?;
        self.asks(&mut to)
    }
}

impl Snapshot {
    fn counters(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        let sums = &self.progress.sums;
        let counters = [
            ("requests", "HTTP exchanges for requests of this campaign, repeats included", sums.attempts),
            ("credits_charged", "Credits that the service charged in this campaign", sums.account.charged.0),
            ("rows_read", "Rows of the input that were read, unreadable ones included", sums.rows),
            ("publications", "Publications of this run while requests were sent", self.progress.publications),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            counter.encode(to.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        let mut info = to.encode_descriptor("build", "The program", None, MetricType::Info)?;
        info.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
    }

    fn amounts(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        let Progress { sums, in_flight, limit, wait, .. } = &self.progress;
        let gauge = |to: &mut DescriptorEncoder, name: &str, help: &str, unit: Option<&Unit>, value: u64| {
            to.encode_descriptor(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
        };
        gauge(to, "in_flight", "Requests without a recorded reply", None, *in_flight as u64)?;
        gauge(to, "credits_held", "Credits held for requests without a final reply", None, sums.account.held.0)?;
        if let Some(limit) = limit {
            gauge(to, "credits_limit", "Most credits that the campaign may cost", None, limit.0)?;
        }
        let left_us = wait.as_ref().map_or(0, |wait| wait.until_us.saturating_sub(self.now_us));
        let left = u64::try_from(left_us).unwrap_or_default().div_ceil(1_000_000);
        gauge(to, "waiting", "Time until anything is sent again", Some(&Unit::Seconds), left)?;
        let is_read = u64::from(self.progress.intake.done);
        gauge(to, "input_read", "1 if this run reads no more rows, else 0", None, is_read)?;
        let mut states = to.encode_descriptor("requests_by_state", "Requests by state", None, MetricType::Gauge)?;
        for state in State::ALL {
            states.encode_family(&[("state", state.as_str())])?.encode_gauge(&sums.in_state(state))?;
        }
        Ok(())
    }

    fn latency(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        let latencies = &self.progress.latencies;
        let bounds = BOUNDS_MS.iter().map(|bound| *bound as f64 / 1_000.0).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(latencies.buckets).collect();
        let help = "Time from sending a request to its whole reply, in this run";
        let mut latency = to.encode_descriptor("latency", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        let sum = latencies.sum_ms as f64 / 1_000.0;
        latency.encode_histogram::<NoLabelSet>(sum, latencies.count(), &buckets, None)
    }

    fn asks(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        let Progress { sums, checks, .. } = &self.progress;
        let unreadable = "(unreadable row)".to_owned();
        let named: Vec<_> = sums
            .checks
            .iter()
            .filter_map(|(id, sums)| {
                let name = if *id == UNREADABLE_ROWS { &unreadable } else { checks.get(id)? };
                Some((name.as_str(), sums))
            })
            .collect();
        let of_checks = named.iter().filter(|(name, _)| *name != unreadable);
        let mut asks = to.encode_descriptor("asks", "Checks asked for, one for each row", None, MetricType::Gauge)?;
        for (name, sums) in of_checks.clone() {
            family(&mut asks, &[("check", *name)], sums.asks)?;
        }
        let mut skipped = to.encode_descriptor("asks_skipped", "Asks left out by `when`", None, MetricType::Gauge)?;
        for (name, sums) in of_checks.clone() {
            family(&mut skipped, &[("check", *name)], sums.skipped)?;
        }
        let mut pending = to.encode_descriptor("asks_pending", "Asks without a result yet", None, MetricType::Gauge)?;
        for (name, sums) in of_checks {
            family(&mut pending, &[("check", *name)], sums.asks - sums.skipped - sums.failed() - sums.answered())?;
        }
        let mut answered =
            to.encode_descriptor("asks_answered", "Answered asks by verdict", None, MetricType::Gauge)?;
        for (name, sums) in &named {
            for (verdict, count) in &sums.verdicts {
                family(&mut answered, &[("check", *name), ("verdict", verdict.as_str())], *count)?;
            }
        }
        let mut failed = to.encode_descriptor("asks_failed", "Failed asks by code", None, MetricType::Gauge)?;
        for (name, sums) in &named {
            for (code, count) in &sums.failures {
                family(&mut failed, &[("check", *name), ("code", code.as_str())], *count)?;
            }
        }
        Ok(())
    }
}

fn family<const N: usize>(to: &mut MetricEncoder, labels: &[(&str, &str); N], value: u64) -> fmt::Result {
    to.encode_family(labels)?.encode_gauge(&value)
}

#[cfg(test)]
#[path = "exposition_tests.rs"]
mod tests;
