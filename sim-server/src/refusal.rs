//! Errors as the API reports them.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode, header};
use serde_json::json;

/// A request that is not served, with vLLM's wording and JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: StatusCode,
    /// What is wrong.
    pub message: String,
    /// The field at fault.
    pub param: Option<&'static str>,
}

impl Refusal {
    /// 400, for the field `param`.
    pub fn bad(param: impl Into<Option<&'static str>>, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), param: param.into() }
    }

    /// 404: no such model.
    #[must_use]
    pub fn unknown_model(model: &str) -> Self {
        let message = format!("The model `{model}` does not exist.");
        Self { status: StatusCode::NOT_FOUND, message, param: Some("model") }
    }

    /// A status that speaks for itself.
    #[must_use]
    pub fn status(status: StatusCode) -> Self {
        let message = status.canonical_reason().unwrap_or_default().to_owned();
        Self { status, message, param: None }
    }

    /// As it goes on the wire.
    #[must_use]
    pub fn response(&self) -> Response<Full<Bytes>> {
        let kind = match self.status {
            StatusCode::BAD_REQUEST => "BadRequestError".to_owned(),
            StatusCode::NOT_FOUND => "NotFoundError".to_owned(),
            status => status.canonical_reason().unwrap_or_default().to_owned(),
        };
        let body = json!({ "error": {
            "message": self.message, "type": kind, "param": self.param, "code": self.status.as_u16(),
        }});
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = self.status;
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        response
    }
}
