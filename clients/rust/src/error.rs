use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::v1::Reason;

/// A failure that the gateway answered with, or of the connection to it (then without a reason).
#[derive(Clone, Debug)]
pub struct Error {
    /// Stable; what a program decides by. `Unspecified` where no gateway answered, or a newer one.
    pub reason: Reason,
    /// The gRPC status code.
    pub code: Code,
    /// What went wrong and what to change.
    pub message: String,
    /// The parameter that the failure is about, where it is about one.
    pub field: Option<String>,
    /// How long to wait before the same call may succeed, where the gateway says.
    pub retry_after: Option<Duration>,
    /// What to quote to the operator.
    pub request_id: Option<String>,
    /// Further facts of the failure by name.
    pub facts: HashMap<String, String>,
    /// Whether the gateway asks not to send the call again.
    is_pushed_back: bool,
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Status::invalid_argument(message).into()
    }

    /// Returns whether the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        (self.code == Code::Unavailable && !self.is_pushed_back)
            || (self.reason == Reason::RateLimited && self.retry_after.is_some())
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        let reason = info.and_then(|info| Reason::from_str_name(&format!("REASON_{}", info.reason)));
        Self {
            reason: reason.unwrap_or_default(),
            code: status.code(),
            message: status.message().to_owned(),
            field: details
                .bad_request()
                .and_then(|detail| detail.field_violations.first())
                .map(|violation| violation.field.clone()),
            retry_after: details.retry_info().and_then(|detail| detail.retry_delay),
            request_id: details.request_info().map(|detail| detail.request_id.clone()),
            is_pushed_back: status
                .metadata()
                .get("grpc-retry-pushback-ms")
                .is_some_and(|text| text.as_bytes().starts_with(b"-")),
            facts: info.map(|info| info.metadata.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Unspecified => write!(formatter, "{:?}: {}", self.code, self.message),
            reason => write!(formatter, "{}: {}", &reason.as_str_name()["REASON_".len()..], self.message),
        }
    }
}

impl std::error::Error for Error {}
