// Package api serves Oriel's JSON API under /oriel/api/: everything that people and
// programs can see and change of their histories. openapi.json, which is made of
// the routes and of the types of their bodies and answers, describes it.
//
// Every route works on the history of the request's tenant; the ids of other tenants are
// unknown ids. Errors are RFC 9457 problems with a hint. Query parameters and members of
// bodies that a route does not have are refused by name, and every body has a limit.
//
// The handler expects that the caller has checked the request's host, origin and token, as
// package proxy does. It requires a header that a web form cannot send for everything but
// reading, and sets the headers that keep browsers from running or storing what it returns.
//
// At most a few requests are worked on at a time, so that people who look do not slow down
// calls. Streams of events never delay what they report: see Hub.
package api
