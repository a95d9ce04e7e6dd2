//! On a machine that others use too: web pages and half-open connections do not reach the service, and no body is read
//! before its API key is verified.

use super::*;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends these bytes unchanged, and reads until the connection ends or nothing more arrives.
async fn raw(service: &Service, bytes: &str) -> String {
    let mut stream = TcpStream::connect(service.url.trim_start_matches("http://")).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    read(&mut stream, Duration::from_secs(2)).await
}

async fn read(stream: &mut TcpStream, patience: Duration) -> String {
    let (mut reply, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(Ok(count @ 1..)) = tokio::time::timeout(patience, stream.read(&mut chunk)).await {
        reply.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(reply).unwrap()
}

fn status(reply: &str) -> &str {
    reply.split(' ').nth(1).unwrap_or("")
}

/// A service with one charge, on this port.
async fn charged() -> (Service, String) {
    let service = Service::start(unlimited()).await;
    service.post(AML, KEY, &aml("production", "Jo Vexford")).await;
    let port = service.url.rsplit(':').next().unwrap().to_owned();
    (service, port)
}

#[tokio::test]
async fn a_web_page_can_neither_reset_nor_query_the_simulator() {
    let (service, port) = charged().await;
    let before = service.stats();
    for headers in [
        "host: evil.example".to_owned(),
        format!("host: evil.example:{port}"),
        format!("host: 127.0.0.1.evil.example:{port}"),
        format!("host: localhost.evil.example:{port}"),
        format!("host: evil@127.0.0.1:{port}"),
        format!("host: 192.0.2.7:{port}"),
        "host: ".to_owned(),
        format!("host: 127.0.0.1:{port}\r\nhost: evil.example"),
        format!("host: 127.0.0.1:{port}\r\norigin: http://evil.example"),
        format!("host: 127.0.0.1:{port}\r\norigin: null"),
        format!("host: 127.0.0.1:{port}\r\norigin: http://127.0.0.1:1"),
        format!("host: 127.0.0.1:{port}\r\norigin: https://127.0.0.1:{port}"),
        format!("host: 127.0.0.1:{port}\r\nsec-fetch-site: cross-site"),
    ] {
        for line in [
            "POST /_simulator/reset",
            "GET /_simulator/stats",
            "GET /_simulator/book",
            "GET /my_credits",
            "POST /aml-screening",
        ] {
            let reply = raw(
                &service,
                &format!(
                    "{line} HTTP/1.1\r\n{headers}\r\nx-api-key: k\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                ),
            )
            .await;
            assert_eq!(status(&reply), "403", "{line} {headers}: {reply}");
            assert!(!reply.to_lowercase().contains("access-control"), "{reply}");
        }
    }
    let absolute = format!(
        "POST http://evil.example/_simulator/reset HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(status(&raw(&service, &absolute).await), "403");
    assert_eq!(service.stats(), before, "nothing of it had an effect");
}

#[tokio::test]
async fn programs_of_this_machine_are_served_under_every_name_of_loopback() {
    let (service, port) = charged().await;
    for headers in [
        format!("host: 127.0.0.1:{port}"),
        format!("host: localhost:{port}"),
        format!("HOST: LocalHost:{port}"),
        format!("host: [::1]:{port}"),
        "host: 127.0.0.1".to_owned(),
        format!("host: 127.0.0.1:{port}\r\norigin: http://127.0.0.1:{port}"),
        format!("host: 127.0.0.1:{port}\r\nsec-fetch-site: same-origin"),
    ] {
        let reply =
            raw(&service, &format!("GET /_simulator/stats HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n")).await;
        assert_eq!(status(&reply), "200", "{headers}: {reply}");
    }
}

#[tokio::test]
async fn a_wrong_api_key_is_refused_before_the_body_arrives() {
    let service = Service::start(Settings { api_key: Some("right".into()), ..unlimited() }).await;
    let host = service.url.trim_start_matches("http://");
    for length in [100, 1_000_000] {
        let head =
            format!("POST {AML} HTTP/1.1\r\nhost: {host}\r\nx-api-key: wrong\r\ncontent-length: {length}\r\n\r\n");
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(status(&read(&mut stream, Duration::from_secs(3)).await), "401");
    }
    // A complete message gets its 401 on a connection that stays open.
    for _ in 0..50 {
        let body = aml("production", &"x".repeat(20_000));
        assert_eq!(service.post(AML, KEY, &body).await.status, 401);
    }
}

#[tokio::test]
async fn only_the_owner_of_the_key_resets_a_simulator_that_has_one() {
    let service = Service::start(Settings { api_key: Some("right".into()), ..unlimited() }).await;
    let reset = async |key: &str| {
        service.send(service.request("POST", "/_simulator/reset").header("x-api-key", key)).await.unwrap().status
    };
    assert_eq!((reset("wrong").await, reset("").await, reset("right").await), (401, 401, 200));
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_is_abandoned() {
    let simulator = Simulator::new(unlimited());
    let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let request = Request::post(AML).header("x-api-key", "api-key").body(body).unwrap();
    let reply = tokio::time::timeout(Duration::from_secs(60), simulator.exchange(request)).await.unwrap();
    assert_eq!(reply.status(), 408);
}

/// How long visitors are waited for, and how soon they get their reply.
mod timed {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_wrong_api_key_is_refused_at_once() {
        let service = Service::start(Settings { api_key: Some("right".into()), ..unlimited() }).await;
        let host = service.url.trim_start_matches("http://");
        for length in [100, 1_000_000] {
            let begun = Instant::now();
            let head =
                format!("POST {AML} HTTP/1.1\r\nhost: {host}\r\nx-api-key: wrong\r\ncontent-length: {length}\r\n\r\n");
            let mut stream = TcpStream::connect(host).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            assert_eq!(status(&read(&mut stream, Duration::from_secs(3)).await), "401");
            assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        }
    }

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn connections_that_never_finish_their_header_are_closed() {
        let service = Service::start(unlimited()).await;
        let host = service.url.trim_start_matches("http://");
        let mut open = Vec::new();
        for at in 0..600 {
            let Ok(Ok(mut stream)) = tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(host)).await
            else {
                break;
            };
            if at % 2 == 0 {
                stream.write_all(b"GET /my_credits HTTP/1.1\r\nhost: 127").await.unwrap();
            }
            open.push(stream);
        }
        assert!(open.len() > 512, "{}", open.len());
        // The request behind them all is served once they are closed.
        let begun = Instant::now();
        let served = tokio::time::timeout(Duration::from_secs(30), service.get("/my_credits")).await;
        assert_eq!(served.unwrap().status, 200);
        assert!(begun.elapsed() > Duration::from_secs(5), "there is a limit of connections: {:?}", begun.elapsed());
    }
}
