//! The gateway's service config, which tonic does not read by itself: deadlines by operation, pauses between attempts.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use tonic::GrpcMethod;

static METHODS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut config: Value =
        serde_json::from_str(include_str!("../service_config.json")).expect("the file is generated");
    serde_json::from_value(config["methodConfig"].take()).expect("the file is generated")
});

/// None where a method, a stream, has no deadline.
static DEADLINES: LazyLock<HashMap<(&str, &str), Option<Duration>>> = LazyLock::new(|| {
    let names =
        METHODS.iter().flat_map(|one| one["name"].as_array().into_iter().flatten().map(move |name| (name, one)));
    let text = |value: &'static Value| value.as_str().unwrap_or_default();
    names
        .map(|(name, one)| ((text(&name["service"]), text(&name["method"])), one.get("timeout").map(seconds)))
        .collect()
});

/// Returns the deadline of a method; of one that is not named, the usual one. None for streams.
pub fn deadline(method: Option<&GrpcMethod<'static>>) -> Option<Duration> {
    let named = method.and_then(|one| DEADLINES.get(&(one.service(), one.method())));
    *named.unwrap_or(&DEADLINES[&("", "")])
}

/// Returns the pauses between attempts where the gateway states none.
pub fn pauses() -> impl Iterator<Item = Duration> {
    let policy = &METHODS[0]["retryPolicy"];
    let (longest, growth) = (seconds(&policy["maxBackoff"]), policy["backoffMultiplier"].as_u64().unwrap_or(1));
    let next = move |pause: &Duration| Some((*pause * growth as u32).min(longest));
    std::iter::successors(Some(seconds(&policy["initialBackoff"])), next)
}

fn seconds(value: &Value) -> Duration {
    let text = value.as_str().unwrap_or_default();
    Duration::from_secs_f64(text.trim_end_matches('s').parse().expect("the file is generated"))
}

#[test]
fn deadlines_are_those_of_the_operations() {
    assert_eq!(deadline(None), Some(Duration::from_secs(15)));
    assert_eq!(deadline(Some(&GrpcMethod::new("waypost.v1.LogService", "GetLogs"))), Some(Duration::from_secs(30)));
    assert_eq!(deadline(Some(&GrpcMethod::new("waypost.v1.StreamService", "WatchBlocks"))), None);
    assert_eq!(pauses().take(5).map(|one| one.as_millis()).collect::<Vec<_>>(), [200, 400, 800, 1600, 2000]);
}
