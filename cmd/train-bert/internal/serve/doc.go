// Package serve answers requests over HTTP with a model: JSON in, JSON out.
//
//	batcher := serve.NewBatcher(model, heads, serve.Limits{…})
//	server := serve.New(predictor, batcher, options)
//	err := server.Run(ctx, listener) // until ctx is done and all requests are answered
//
// # Endpoints
//
//	POST /v1/fill-mask {"text": "a [MASK] b", "top_k": 5}
//	POST /v1/answer    {"question": "…", "context": "…", "n_best": 3}
//	POST /v1/classify  {"text": "…", "pair": "…"}
//	GET  /healthz      {"status": "ok", "task": "answer"}
//	GET  /metrics      counters in Prometheus' text form
//
// A model has one task; the endpoints of other tasks answer 404. An error is
// {"error": "…"} with one of these codes: 400 for an invalid request; 413 for a body or a
// text that is too long; 403 and 415 for requests that a browser sends for another site
// (below); 408 for a request that does not arrive in time; 429 with Retry-After when the
// queue is full; 503 when a request waited too long.
//
// # Trust
//
// Anybody who can reach the address may send requests, but web pages may not: a browser
// would send requests for any page that its user visits. So a POST without the Content-Type
// application/json gets 415. A POST that comes from a page of another site, according to the
// headers Origin and Sec-Fetch-Site, gets 403.
//
// A server on a loopback address answers requests whose Host header is localhost or a
// loopback address. Otherwise a web page could read its answers by letting its own host
// name resolve to 127.0.0.1 (DNS rebinding). On other addresses any Host is accepted.
//
// # Batching
//
// One goroutine owns the model. Sequences of waiting requests are computed
// together, up to a number of tokens. If the model is idle, a request waits a short
// time for other requests. Requests take turns, one sequence at a time, so that a request
// with many windows of a long text does not delay the others.
//
// # Stopping
//
// When the context is done, the listener and idle connections are closed, and requests
// in progress are answered within a time limit.
package serve
