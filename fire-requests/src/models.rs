//! Asking the server for its models, before anything is measured.

use std::{
    error::Error as _,
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use http::HeaderMap;
use records::{Error, Result};
use reqwest::blocking::{Client, Response};
use rustls::ClientConfig;
use serde::Deserialize;

use crate::{api::Api, target::Target};

const TIMEOUT: Duration = Duration::from_secs(10);
const BETWEEN_CHECKS: Duration = Duration::from_millis(250);

/// How long a refused connection is tried again: `server & fire-requests` starts both at once.
const STARTING: Duration = Duration::from_secs(2);

/// The model to ask for: the one named, if it may be on the server's list, or else the first of that list.
pub(crate) fn choose(server: &Server, named: Option<&str>) -> Result<String> {
    let unknown = |reason: &str| Error::usage(format!("{}: {reason}", server.url));
    let patience = if named.is_some() { Duration::ZERO } else { STARTING };
    match (named, server.models(patience)) {
        (Some(name), Err(_)) => Ok(name.to_owned()),
        (Some(name), Ok(models)) if models.is_empty() || models.iter().any(|model| is(model, name)) => {
            Ok(name.to_owned())
        }
        (Some(name), Ok(models)) => {
            let listed = models.join(", ");
            Err(unknown(&format!(
                "no model '{name}' on this server; it has {listed} (--no-model-check asks for it all the same)"
            )))
        }
        (None, Ok(models)) => models
            .into_iter()
            .next()
            .ok_or_else(|| unknown("lists no model; name the one to ask for with --model")),
        (None, Err(reason)) if reason.contains("certificate") => {
            Err(unknown(&format!("{reason}; give --cacert FILE to trust it, or --insecure")))
        }
        (None, Err(reason)) => Err(unknown(&format!("{reason}; start the server, or name a --model"))),
    }
}

/// The part of the server that is asked outside the measured path.
pub(crate) struct Server {
    client: Client,
    url: String,
}

/// Ollama lists the tag of a name that may be given without.
fn is(listed: &str, name: &str) -> bool {
    listed == name || listed.strip_suffix(":latest") == Some(name)
}

/// A list of models, or the one model of a server that has no list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    /// `OpenAI`'s, and Ollama's `models`.
    Many {
        #[serde(alias = "models")]
        data: Vec<Model>,
    },
    /// Text Generation Inference's `model_id`, `SGLang`'s `model_path`.
    One {
        #[serde(alias = "model_path")]
        model_id: String,
    },
}

#[derive(Deserialize)]
struct Model {
    #[serde(alias = "name")]
    id: String,
}

impl Server {
    /// A client of its own, which goes direct like the measured path.
    pub(crate) fn new(
        target: &Target,
        api: &dyn Api,
        tls: &Arc<ClientConfig>,
        headers: &HeaderMap,
    ) -> Result<Self> {
        let mut client = Client::builder();
        if let Some(path) = &target.socket {
            client = client.unix_socket(path.clone());
        }
        let client = client
            .no_proxy()
            .connect_timeout(TIMEOUT)
            .timeout(TIMEOUT)
            .tls_backend_preconfigured((**tls).clone())
            .default_headers(headers.clone())
            .build()
            .map_err(|error| Error::usage(format!("cannot set up the HTTP client: {}", chain(&error))))?;
        let scheme = if target.tls { "https" } else { "http" };
        Ok(Self { client, url: format!("{scheme}://{}{}", target.authority, target.path(api.models_path())) })
    }

    /// Waits until the server answers with anything but a 5xx.
    pub(crate) fn wait_until_ready(&self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let reason = match self.client.get(&self.url).send() {
                Ok(answer) if !answer.status().is_server_error() => return Ok(()),
                Ok(answer) => format!("HTTP {}", answer.status()),
                Err(error) => chain(&error),
            };
            if Instant::now() + BETWEEN_CHECKS > deadline {
                let seconds = limit.as_secs_f64();
                return Err(Error::usage(format!("{}: not ready after {seconds} s: {reason}", self.url)));
            }
            thread::sleep(BETWEEN_CHECKS);
        }
    }

    fn models(&self, patience: Duration) -> std::result::Result<Vec<String>, String> {
        let answer = self.list_once_listening(patience).map_err(|error| chain(&error))?;
        if !answer.status().is_success() {
            return Err(format!("HTTP {}", answer.status()));
        }
        Ok(match answer.json().map_err(|error| chain(&error))? {
            Listed::Many { data } => data.into_iter().map(|model| model.id).collect(),
            Listed::One { model_id } => vec![model_id],
        })
    }

    fn list_once_listening(&self, patience: Duration) -> reqwest::Result<Response> {
        let deadline = Instant::now() + patience;
        loop {
            match self.client.get(&self.url).send() {
                Err(error) if is_refused(&error) && Instant::now() < deadline => {
                    thread::sleep(BETWEEN_CHECKS);
                }
                outcome => return outcome,
            }
        }
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The innermost cause, which is the one that says something.
fn chain(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = error.to_string();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}
