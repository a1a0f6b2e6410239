//! Reads 50 balances in one call: cargo run --example batch

use std::env::var;

use prost_types::Any;
use waypost::v1::batch_service_client::BatchServiceClient;
use waypost::v1::execute_result::Outcome;
use waypost::v1::{ExecuteRequest, GetBalanceRequest, GetBalanceResponse};

const CHAINS: [&str; 5] = ["ethereum", "base", "arbitrum", "optimism", "polygon"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = var("WAYPOST_GRPC").unwrap_or("localhost:50051".into());
    let key = var("WAYPOST_KEY").unwrap_or("local".into());
    let gateway = waypost::connect(&format!("http://{target}"), waypost::Options::key(key))?;
    let mut asked = Vec::new();
    for account in 1..=10 {
        for chain in CHAINS {
            asked.push(GetBalanceRequest {
                chain: chain.into(),
                address: format!("0x{account:040x}"),
                ..Default::default()
            });
        }
    }
    let requests = asked.iter().map(Any::from_msg).collect::<Result<_, _>>()?;
    let batch = ExecuteRequest { requests };
    let client = BatchServiceClient::new(gateway).max_decoding_message_size(waypost::LARGEST_ANSWER);
    let answer = waypost::retry(3, async || client.clone().execute(batch.clone()).await).await?;
    for (request, result) in asked.iter().zip(answer.results) {
        let text = match result.outcome {
            Some(Outcome::Response(packed)) => {
                let balance: GetBalanceResponse = packed.to_msg()?;
                format!("{} {}", balance.balance, balance.token)
            }
            Some(Outcome::Error(failure)) => failure.message,
            None => "no outcome".into(),
        };
        println!("{:9} {} {text}", request.chain, request.address);
    }
    Ok(())
}
