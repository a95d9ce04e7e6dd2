//! What there is to beat: a client that does nothing but send bodies that were made before, and a loop that does nothing
//! but read a CSV. No ledger, no throttle, no answer that anybody looks at.

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

/// The first word of the command line that makes this program the bare client.
pub const WORD: &str = "bare-client";

/// Writes key and body of every request of the campaign on stage, one on a line: the very bytes rescreen sends.
pub fn write_requests(stage: &Stage) -> PathBuf {
    let campaign = Campaign::load(&stage.campaign_file()).expect("the campaign file is the bench's own");
    let mapping = campaign.mapping().expect("its mapping fits");
    let mut reader = csv::Reader::from_path(stage.book()).expect("the book was written");
    let header: Vec<String> = reader.headers().expect("it has a header").iter().map(str::to_owned).collect();
    let (bound, header) = (mapping.bind(&header).expect("its columns are those of the mapping"), Arc::new(header));
    let path = stage.path().join("requests.txt");
    let mut to = BufWriter::new(File::create(&path).expect("a file in a folder of our own"));
    for cells in reader.into_records() {
        let position = Position { source: "book".into(), row_number: 1, line: 1, byte_offset: 0 };
        let values = Values::Flat { header: header.clone(), cells: cells.expect("the book is whole") };
        let asked = bound.map(&Row { position, values }).expect("each row has its columns");
        let [rescreen::mapping::Mapped::Ask(ask)] = &asked[..] else { panic!("a row of the book asks for nothing") };
        write!(to, "{} ", ask.key).and_then(|()| to.write_all(&ask.body)).expect("there is room");
        to.write_all(b"\n").expect("there is room");
    }
    to.flush().expect("there is room");
    path
}

/// The bare client: so many in flight, until every line was answered with 200.
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
        join_all(loops).await.into_iter().for_each(|sent| sent.expect("a loop that panics has said why"));
    });
}

async fn send_lines(http: reqwest::Client, url: String, lines: Arc<Mutex<Lines<BufReader<File>>>>) {
    loop {
        let Some(line) = lines.lock().expect("no loop panics with the lock").next() else { return };
        let line = line.expect("the file is ours");
        let (key, body) = line.split_once(' ').expect("a key, a blank, a body");
        let request = http
            .post(&url)
            .header("x-api-key", "bench-key")
            .header("idempotency-key", key)
            .header("content-type", "application/json")
            .body(body.to_owned());
        let response = request.send().await.expect("the service answers");
        assert_eq!(response.status(), 200, "a bare client has no second try");
        response.bytes().await.expect("the service answers whole");
    }
}

/// How long the csv crate takes to read the book, record by record into the same memory.
pub fn csv_loop(book: &Path) -> (u64, Duration) {
    let begun = Instant::now();
    let mut reader = csv::Reader::from_path(book).expect("the book was written");
    let (mut record, mut rows) = (csv::ByteRecord::new(), 0);
    while reader.read_byte_record(&mut record).expect("the book is whole") {
        rows += 1;
    }
    (rows, begun.elapsed())
}
