//! Against the gateway of `make clients`; without one there is nothing to test.

use std::collections::HashSet;
use std::env::var;

use futures_util::{StreamExt, pin_mut};
use waypost::v1::account_service_client::AccountServiceClient;
use waypost::v1::block_service_client::BlockServiceClient;
use waypost::v1::get_block_by_number_result::Outcome;
use waypost::v1::log_service_client::LogServiceClient;
use waypost::v1::stream_service_client::StreamServiceClient;
use waypost::v1::{
    EventKind, GetBalanceRequest, GetBlockByNumberItem, GetBlockByNumberRequest, GetBlockHeightRequest, GetLogsRequest,
    WatchBlocksRequest, WatchBlocksResponse,
};
use waypost::{Error, Gateway, Options, Reason, connect, pages, retry};

fn given(name: &str) -> String {
    var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn number(name: &str) -> i64 {
    given(name).parse().expect(name)
}

fn gateway(key: &str) -> Option<Gateway> {
    let target = var("WAYPOST_GRPC").ok()?;
    Some(connect(&format!("http://{target}"), Options::key(given(key))).expect("an address"))
}

fn balance_of(chain: &str, address: &str) -> GetBalanceRequest {
    GetBalanceRequest { chain: chain.into(), address: address.into(), ..Default::default() }
}

#[tokio::test]
async fn reads_a_balance() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let request = balance_of("ethereum", &given("WAYPOST_HOLDER"));
    let answer = AccountServiceClient::new(gateway).get_balance(request).await.expect("a balance");
    assert_eq!(answer.into_inner().balance_raw, given("WAYPOST_BALANCE"));
}

#[tokio::test]
async fn fails_with_reason_and_field() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let accounts = AccountServiceClient::new(gateway);
    let refused = async |chain| {
        let request = balance_of(chain, "0x12");
        retry(0, async || accounts.clone().get_balance(request.clone()).await).await.expect_err("no such address")
    };
    let failure = refused("ethereum").await;
    assert_eq!((failure.reason, failure.field.as_deref()), (Reason::InvalidArgument, Some("address")));
    assert!(failure.request_id.is_some());
    assert_eq!(refused("atlantis").await.reason, Reason::ChainUnknown);
}

#[tokio::test]
async fn rows_fail_by_themselves() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let item = |block| GetBlockByNumberItem { chain: "ethereum".into(), block };
    let request = GetBlockByNumberRequest { items: vec![item(number("WAYPOST_LOGS_FROM")), item(1 << 40)] };
    let answer = BlockServiceClient::new(gateway).get_block_by_number(request).await.expect("rows").into_inner();
    assert!(matches!(answer.results[0].outcome, Some(Outcome::Value(_))));
    let Some(Outcome::Error(failure)) = &answer.results[1].outcome else { panic!("{:?}", answer.results[1]) };
    assert_eq!(failure.reason(), Reason::NotFound);
}

#[tokio::test]
async fn walks_through_pages() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let logs = LogServiceClient::new(gateway);
    let window = GetLogsRequest {
        chain: "ethereum".into(),
        address: Some(given("WAYPOST_LOGS_ADDRESS")),
        from_block: Some(number("WAYPOST_LOGS_FROM")),
        to_block: Some(number("WAYPOST_LOGS_TO")),
        page_size: 2,
        ..Default::default()
    };
    let found = pages(
        async |page_token| {
            let request = GetLogsRequest { page_token, ..window.clone() };
            retry(3, async || logs.clone().get_logs(request.clone()).await).await
        },
        |page| &page.next_page_token,
    );
    pin_mut!(found);
    let (mut seen, mut count) = (HashSet::new(), 0);
    while let Some(page) = found.next().await {
        count += 1;
        seen.extend(page.expect("a page").logs.into_iter().map(|log| (log.transaction_hash, log.log_index)));
    }
    assert_eq!(seen.len() as i64, number("WAYPOST_LOGS_COUNT"));
    assert!(count > 1);
}

#[tokio::test]
async fn follows_a_chain_and_goes_on_at_a_cursor() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let first = next_block(gateway.clone(), "").await;
    let second = next_block(gateway, &first.cursor).await;
    assert_eq!(second.block.expect("a block").parent_hash, first.block.expect("a block").hash);
}

/// Returns the next block that comes after the cursor's.
async fn next_block(gateway: Gateway, cursor: &str) -> WatchBlocksResponse {
    let request = WatchBlocksRequest { chain: "base".into(), cursor: cursor.into() };
    let mut events = StreamServiceClient::new(gateway).watch_blocks(request).await.expect("a stream").into_inner();
    loop {
        let event = events.message().await.map_err(Error::from).expect("an event").expect("no end");
        if event.kind() == EventKind::Added && event.cursor != cursor {
            return event;
        }
    }
}

#[tokio::test]
async fn streams_fail_with_reason_and_field() {
    let Some(gateway) = gateway("WAYPOST_KEY") else { return };
    let request = WatchBlocksRequest { chain: "ethereum".into(), cursor: "none".into() };
    let failure = match StreamServiceClient::new(gateway).watch_blocks(request).await {
        Ok(events) => events.into_inner().message().await.expect_err("no cursor"),
        Err(status) => status,
    };
    let failure = Error::from(failure);
    assert_eq!((failure.reason, failure.field.as_deref()), (Reason::InvalidArgument, Some("cursor")));
}

#[tokio::test]
async fn waits_where_the_quota_is_used_up() {
    let Some(gateway) = gateway("WAYPOST_TIGHT_KEY") else { return };
    let blocks = BlockServiceClient::new(gateway);
    let read = async |times| {
        let request = GetBlockHeightRequest { chain: "ethereum".into() };
        retry(times, async || blocks.clone().get_block_height(request.clone()).await).await
    };
    let mut refused = None;
    for _ in 0..50 {
        refused = refused.or(read(0).await.err());
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("a quota of one call a second");
    assert_eq!(refused.reason, Reason::RateLimited);
    assert!(refused.retry_after.is_some());
    for _ in 0..2 {
        read(3).await.expect("an answer after a wait");
    }
}

#[tokio::test]
async fn no_plaintext_to_other_machines_unless_asked() {
    let elsewhere = "http://gateway.example:50051";
    assert!(connect(elsewhere, Options::key("secret")).is_err());
    assert!(connect(elsewhere, Options::key("secret").plaintext()).is_ok());
    assert!(connect("no address", Options::key("secret")).is_err());
}
