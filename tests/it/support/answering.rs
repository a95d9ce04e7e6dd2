//! A server that answers each request with the result of a function. It has its own runtime, so a busy test cannot starve it.

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, Response, request::Parts},
};
use tokio::{net::TcpListener, runtime::Runtime};

/// It answers until it is dropped.
pub struct Answering {
    pub url: String,
    runtime: Option<Runtime>,
}

impl Answering {
    /// Each request gets its own clone of the function.
    pub fn start<F: Future<Output = Response<Body>> + Send>(
        answer: impl FnOnce(Parts, Bytes) -> F + Clone + Send + Sync + 'static,
    ) -> Answering {
        let (answering, listener) = Answering::bound();
        let router = Router::new().fallback(move |request: Request<Body>| async move {
            let (parts, body) = request.into_parts();
            answer(parts, to_bytes(body, usize::MAX).await.unwrap_or_default()).await
        });
        answering.spawn(async move { axum::serve(listener, router).await.unwrap() });
        answering
    }

    /// A port that nothing is served at yet.
    pub fn bound() -> (Answering, TcpListener) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let entered = runtime.enter();
        let listener = TcpListener::from_std(socket).unwrap();
        drop(entered);
        (Answering { url, runtime: Some(runtime) }, listener)
    }

    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.as_ref().unwrap().spawn(task);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // A runtime must not wait for another one.
        self.runtime.take().unwrap().shutdown_background();
    }
}
