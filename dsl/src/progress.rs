//! Progress on stderr, once something takes longer than a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a generator stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reports what is being done. A thread prints the latest message when [`PATIENCE`] ends, and every
/// later one at once.
pub(crate) struct Progress {
    messages: Option<Sender<String>>,
    printer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Progress of the package of that name.
    pub(crate) fn new(package: &str, quiet: bool) -> Progress {
        if quiet {
            return Progress { messages: None, printer: None };
        }
        let package = package.to_string();
        let (messages, inbox) = mpsc::channel::<String>();
        let printer = std::thread::Builder::new().name("progress".into()).spawn(move || {
            let end = Instant::now() + PATIENCE;
            let mut latest: Option<String> = None;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let news = if left.is_zero() {
                    if let Some(text) = latest.take() {
                        eprintln!("{package}: {text}");
                    }
                    inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
                } else {
                    inbox.recv_timeout(left)
                };
                match news {
                    Ok(text) => latest = Some(text),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        Progress { messages: Some(messages), printer: printer.ok() }
    }

    /// Tells what is being done now.
    pub(crate) fn say(&self, text: &str) {
        if let Some(messages) = &self.messages {
            // progress that cannot be printed is no error
            let _ = messages.send(text.into());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(printer) = self.printer.take() {
            let _ = printer.join();
        }
    }
}
