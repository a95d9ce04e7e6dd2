//! The baselines: a client that only sends prepared bodies, and a loop that only reads a CSV. They have no ledger and
//! no throttle, and do not read answers.

use super::stage::Stage;
use futures::future::join_all;
use rescreen::{
    model::{Position, Row, row::Values},
    pipeline::Campaign,
};
use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Lines, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// The first argument that makes this program the bare client.
pub const WORD: &str = "bare-client";

/// Writes key and body of every request of the campaign, one per line: exactly the bytes that rescreen sends.
pub fn write_requests(stage: &Stage) -> PathBuf {
    let campaign = Campaign::load(&stage.campaign_file()).expect("the campaign file is the bench's own");
    let mapping = campaign.mapping().expect("its mapping is valid");
    let mut reader = csv::Reader::from_path(stage.book()).expect("the input was written");
    let header: Vec<String> = reader.headers().expect("it has a header").iter().map(str::to_owned).collect();
    let (bound, header) = (mapping.bind(&header).expect("its columns are those of the mapping"), Arc::new(header));
    let path = stage.path().join("requests.txt");
    let mut to = BufWriter::new(File::create(&path).expect("a file in our own folder"));
    for cells in reader.into_records() {
        let position = Position { source: "book".into(), row_number: 1, line: 1, byte_offset: 0 };
        let values = Values::Flat { header: header.clone(), cells: cells.expect("the input is complete") };
        let asked = bound.map(&Row { position, values }).expect("each row has its columns");
        let [rescreen::mapping::Mapped::Ask(ask)] = &asked[..] else { panic!("each row has one ask") };
        write!(to, "{} ", ask.key).and_then(|()| to.write_all(&ask.body)).expect("there is space");
        to.write_all(b"\n").expect("there is space");
    }
    to.flush().expect("there is space");
    path
}

/// The bare client: sends `in_flight` requests at a time, until every line is answered with 200.
pub fn send_all(url: &str, requests: &Path, in_flight: usize) {
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    let http = reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(in_flight)
        .retry(reqwest::retry::never())
        .build()
        .expect("a client without options");
    let url = format!("{url}/aml-screening");
    let lines = Arc::new(Mutex::new(BufReader::new(File::open(requests).expect("they were written")).lines()));
    runtime.block_on(async {
        let loops = (0..in_flight).map(|_| tokio::spawn(send_lines(http.clone(), url.clone(), Arc::clone(&lines))));
        join_all(loops).await.into_iter().for_each(|sent| sent.expect("a task that panics has printed the reason"));
    });
}

async fn send_lines(http: reqwest::Client, url: String, lines: Arc<Mutex<Lines<BufReader<File>>>>) {
    loop {
        let Some(line) = lines.lock().expect("no task panics while it holds the lock").next() else { return };
        let line = line.expect("the file is valid");
        let (key, body) = line.split_once(' ').expect("a key, a space, a body");
        let request = http
            .post(&url)
            .header("x-api-key", "bench-key")
            .header("idempotency-key", key)
            .header("content-type", "application/json")
            .body(body.to_owned());
        let response = request.send().await.expect("the service answers");
        assert_eq!(response.status(), 200, "the bare client does not retry");
        response.bytes().await.expect("the service answers completely");
    }
}

/// How long the csv crate takes to read the input, record by record into the same buffer.
pub fn csv_loop(book: &Path) -> (u64, Duration) {
    let begun = Instant::now();
    let mut reader = csv::Reader::from_path(book).expect("the input was written");
    let (mut record, mut rows) = (csv::ByteRecord::new(), 0);
    while reader.read_byte_record(&mut record).expect("the input is complete") {
        rows += 1;
    }
    (rows, begun.elapsed())
}
