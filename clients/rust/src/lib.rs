//! Client of Waypost, a self-hosted gRPC-first gateway to 24 blockchains.
//!
//! ```no_run
//! # async fn example() -> Result<(), waypost::Error> {
//! use waypost::v1::{GetBalanceRequest, account_service_client::AccountServiceClient};
//!
//! let gateway = waypost::connect("http://localhost:50051", waypost::Options::key("local"))?;
//! let accounts = AccountServiceClient::new(gateway);
//! let request = GetBalanceRequest {
//!     chain: "ethereum".into(),
//!     address: "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045".into(),
//!     ..Default::default()
//! };
//! let answer = waypost::retry(3, async || accounts.clone().get_balance(request.clone()).await).await?;
//! println!("{}", answer.balance);
//! # Ok(())
//! # }
//! ```

mod error;
mod paging;
mod service_config;

use std::time::Duration;

pub use error::Error;
pub use paging::pages;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Uri};
use tonic::{Request, Response, Status};
pub use v1::Reason;

/// The size of the largest answer that a gateway sends, in bytes: for `max_decoding_message_size` of the clients.
pub const LARGEST_ANSWER: usize = 64 << 20;

const PING_AFTER: Duration = Duration::from_secs(45);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

#[allow(clippy::all, clippy::pedantic, rustdoc::all)]
mod stubs {
    pub mod google {
        pub mod rpc {
            include!("gen/google/rpc/google.rpc.rs");
        }
    }
    pub mod waypost {
        pub mod v1 {
            include!("gen/waypost/v1/waypost.v1.rs");
        }
    }
}

pub use stubs::google::rpc;
pub use stubs::waypost::v1;

/// How `connect` reaches a gateway.
#[derive(Clone, Debug)]
pub struct Options {
    key: Option<String>,
    timeout: Option<Duration>,
    plaintext: bool,
}

impl Options {
    /// Returns options with an API key, which every call carries, and the deadlines of its operations.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), timeout: None, plaintext: false }
    }

    /// Sets the deadline of calls that have none of their own.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Allows `http:` to other machines: the key travels readable.
    pub fn plaintext(self) -> Self {
        Self { plaintext: true, ..self }
    }
}

/// A connection to a gateway, for the `new` of the services' clients. Clones share it.
pub type Gateway = InterceptedService<Channel, Authorisation>;

/// Returns a connection to the gateway at `uri`, opened by the first call. Needs a Tokio runtime. Fails for what is no
/// address, a key that no header can hold, and for a key over `http:` to another machine.
pub fn connect(uri: &str, options: Options) -> Result<Gateway, Error> {
    let parsed: Uri = uri.parse().map_err(|_| Error::invalid(format!("{uri:?} is no address")))?;
    let secure = parsed.scheme_str() == Some("https");
    let local = matches!(parsed.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if !(secure || local || options.plaintext) {
        return Err(Error::invalid("the key would travel readable: use https:, or allow plaintext"));
    }
    // A stream whose connection is gone without a word ends.
    let mut endpoint = Endpoint::from(parsed).http2_keep_alive_interval(PING_AFTER).keep_alive_timeout(PING_TIMEOUT);
    if secure {
        let tls = ClientTlsConfig::new().with_native_roots();
        endpoint = endpoint.tls_config(tls).map_err(|failure| Error::invalid(failure.to_string()))?;
    }
    let key = options.key.as_deref().map(str::parse).transpose();
    let key = key.map_err(|_| Error::invalid("the key holds what no header can"))?;
    Ok(InterceptedService::new(endpoint.connect_lazy(), Authorisation { key, timeout: options.timeout }))
}

/// Adds the key to every call, and a deadline where it has none; not to streams.
#[derive(Clone)]
pub struct Authorisation {
    key: Option<MetadataValue<Ascii>>,
    timeout: Option<Duration>,
}

impl tonic::service::Interceptor for Authorisation {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.key {
            request.metadata_mut().insert("x-api-key", key.clone());
        }
        if !request.metadata().contains_key("grpc-timeout") {
            let usual = service_config::deadline(request.extensions().get());
            if let Some(deadline) = usual.map(|usual| self.timeout.unwrap_or(usual)) {
                request.set_timeout(deadline);
            }
        }
        Ok(request)
    }
}

/// Returns the answer of a call that is sent up to `times` more where the gateway cannot answer at the moment, or the
/// quota is used up, each after the time that the gateway asks for.
pub async fn retry<T>(times: u32, call: impl AsyncFn() -> Result<Response<T>, Status>) -> Result<T, Error> {
    let mut pauses = service_config::pauses();
    for _ in 0..times {
        match call().await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => match Error::from(status) {
                failure if failure.is_temporary() => {
                    let pause = pauses.next().unwrap_or_default();
                    tokio::time::sleep(failure.retry_after.unwrap_or(pause)).await;
                }
                failure => return Err(failure),
            },
        }
    }
    Ok(call().await?.into_inner())
}
