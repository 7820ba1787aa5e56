// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package router

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
	"pgregory.net/rapid"
)

// services are made as the library makes those of API groups.
func services() []*restful.WebService {
	json := []string{"application/json", "application/vnd.kubernetes.protobuf"}
	service := func(root string, consumes ...string) *restful.WebService {
		return new(restful.WebService).Path(root).Produces(json...).Consumes(consumes...)
	}
	route := func(service *restful.WebService, method, path string, consumes ...string) {
		builder := service.Method(method).Path(path).To(func(*restful.Request, *restful.Response) {}).Operation(method + path)
		if len(consumes) > 0 {
			builder.Consumes(consumes...)
		}
		service.Route(builder)
	}
	all := []*restful.WebService{service("/version", json...), service("/apis/other.org", json...), service("/apis", json...)}
	for i := range all {
		route(all[i], "GET", "/")
	}
	for _, group := range []string{"/apis/example.org/v1", "/apis/other.org/v1"} {
		kinds := service(group, "*/*")
		route(kinds, "GET", "/")
		for _, resource := range []string{"things", "namespaces/{namespace}/things", "namespaces/{namespace}/parts"} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				route(kinds, method, resource)
			}
			for _, end := range []string{"", "/status"} {
				route(kinds, "GET", resource+"/{name}"+end)
				route(kinds, "PUT", resource+"/{name}"+end)
				route(kinds, "PATCH", resource+"/{name}"+end, "application/json-patch+json", "application/apply-patch+yaml")
			}
		}
		route(kinds, "GET", "watch/things/{name}")
		all = append(all, kinds)
	}
	logs := service("/logs", json...)
	route(logs, "GET", "/{logpath:*}")
	return append(all, logs)
}

// says is what a router answered, in words.
func says(service *restful.WebService, route *restful.Route, err error) string {
	text := "nothing"
	if service != nil {
		text = service.RootPath()
	}
	if route != nil {
		text += " " + route.Method + " " + route.Path + " " + strings.Join(route.Consumes, ",")
	}
	if refused := (restful.ServiceError{}); errors.As(err, &refused) {
		return fmt.Sprintf("%s: %d %s %v", text, refused.Code, refused.Message, refused.Header)
	}
	return fmt.Sprintf("%s: %v", text, err)
}

func newRequest(method, path, contentType, accept string) *http.Request {
	r := &http.Request{Method: method, Header: http.Header{}}
	r.URL = &url.URL{Path: path}
	for name, value := range map[string]string{"Content-Type": contentType, "Accept": accept} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

// counting counts the questions that reach a router.
type counting struct {
	restful.RouteSelector
	asked int
}

func (c *counting) SelectRoute(services []*restful.WebService, request *http.Request) (*restful.WebService, *restful.Route, error) {
	c.asked++
	return c.RouteSelector.SelectRoute(services, request)
}

// Whatever was asked before, the answer is that of the library's router.
func TestAnswersAsTheLibraryDoes(t *testing.T) {
	all := services()
	rapid.Check(t, func(t *rapid.T) {
		router := Remembering(restful.CurlyRouter{})
		segment := rapid.SampledFrom([]string{"", "apis", "version", "logs", "example.org", "other.org", "v1", "namespaces", "things", "parts", "status", "watch", "{name}", "*", "a", "b", "a:b"})
		path := rapid.OneOf(
			rapid.Map(rapid.SliceOfN(segment, 0, 9), func(segments []string) string { return "/" + strings.Join(segments, "/") }),
			rapid.Map(rapid.SliceOfN(segment, 0, 5), func(segments []string) string { return "/apis/example.org/v1/" + strings.Join(segments, "/") }),
			rapid.Map(rapid.SliceOfN(segment, 1, 2), func(segments []string) string {
				return "/apis/other.org/v1/namespaces/n/things/" + strings.Join(segments, "/")
			}),
		)
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			request := newRequest(
				rapid.SampledFrom([]string{"GET", "PUT", "POST", "PATCH", "DELETE", "HEAD"}).Draw(t, "method"), path.Draw(t, "path"),
				rapid.SampledFrom([]string{"", "application/json", "application/apply-patch+yaml", "text/plain"}).Draw(t, "content type"),
				rapid.SampledFrom([]string{"", "*/*", "application/json", "application/json;as=Table, application/json", "text/html"}).Draw(t, "accept"))
			want := says(restful.CurlyRouter{}.SelectRoute(all, request))
			if got := says(router.SelectRoute(all, request)); got != want {
				t.Fatalf("%s %s: %s, not %s", request.Method, request.URL.Path, got, want)
			}
		}
	})
}

// Requests that differ in names alone are one question, all others are questions of their own.
func TestAsksOnceForAShape(t *testing.T) {
	next := &counting{RouteSelector: restful.CurlyRouter{}}
	router, all := Remembering(next), services()
	for i, test := range []struct {
		request *http.Request
		known   bool
	}{
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/a/things/b", "", "application/json")},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/things/d", "", "application/json"), known: true},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/parts/d", "", "application/json")},
		{request: newRequest("PUT", "/apis/example.org/v1/namespaces/c/things/d", "", "application/json")},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/things/d", "", "*/*")},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/things/d", "application/json", "*/*")},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/things/status", "", "application/json")}, // it may be a name, or not
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/nothing/d", "", "*/*")},
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/c/nothing/d", "", "*/*")}, // what is refused is not remembered
		{request: newRequest("GET", "/apis/example.org/v1/namespaces/a/things/b", "", "application/json"), known: true},
	} {
		before := next.asked
		_, _, _ = router.SelectRoute(all, test.request)
		if known := next.asked == before; known != test.known {
			t.Errorf("%d: known: %v", i, known)
		}
	}
}

// A route that asks for more than names is found anew each time, and what else is served, too.
func TestRemembersNothingThatWouldBeWrong(t *testing.T) {
	for name, add := range map[string]func(*restful.WebService) *restful.RouteBuilder{
		"pattern":   func(s *restful.WebService) *restful.RouteBuilder { return s.GET("/years/{year:[0-9]+}") },
		"verb":      func(s *restful.WebService) *restful.RouteBuilder { return s.GET("/years/{year}:close") },
		"star":      func(s *restful.WebService) *restful.RouteBuilder { return s.GET("/years/*") },
		"condition": func(s *restful.WebService) *restful.RouteBuilder { return s.GET("/years/{year}").If(isSecure) },
	} {
		t.Run(name, func(t *testing.T) {
			service := new(restful.WebService).Path("/history").Produces("*/*")
			service.Route(add(service).To(func(*restful.Request, *restful.Response) {}))
			service.Route(service.GET("/ages/{age}").To(func(*restful.Request, *restful.Response) {}))
			next := &counting{RouteSelector: restful.CurlyRouter{}}
			router := Remembering(next)
			for i := range 3 {
				request := newRequest("GET", fmt.Sprintf("/history/ages/%d", i), "", "*/*")
				if _, route, err := router.SelectRoute([]*restful.WebService{service}, request); err != nil || route.Path != "/history/ages/{age}" {
					t.Errorf("%v, %v", route, err)
				}
			}
			if next.asked != 3 {
				t.Errorf("the router was asked %d times", next.asked)
			}
		})
	}
}

func isSecure(r *http.Request) bool { return r.TLS != nil }

// What was known of services is forgotten when others are served.
func TestForgetsOtherServices(t *testing.T) {
	router, request := Remembering(restful.CurlyRouter{}), newRequest("GET", "/logs/example.org", "", "*/*")
	first := new(restful.WebService).Path("/logs").Produces("*/*")
	first.Route(first.GET("/{logpath:*}").To(func(*restful.Request, *restful.Response) {}))
	second := new(restful.WebService).Path("/logs/example.org").Produces("*/*")
	second.Route(second.GET("/").To(func(*restful.Request, *restful.Response) {}))
	for _, all := range [][]*restful.WebService{{first}, {first, second}, {first}, {second}} {
		want := says(restful.CurlyRouter{}.SelectRoute(all, request))
		if got := says(router.SelectRoute(all, request)); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A service that has no routes hides those of others all the same.
func TestServiceWithoutRoutes(t *testing.T) {
	logs, none := new(restful.WebService).Path("/logs").Produces("*/*"), new(restful.WebService).Path("/logs/example.org")
	logs.Route(logs.GET("/{logpath:*}").To(func(*restful.Request, *restful.Response) {}))
	router, all := Remembering(restful.CurlyRouter{}), []*restful.WebService{logs, none}
	for _, path := range []string{"/logs/other.org", "/logs/example.org"} {
		request := newRequest("GET", path, "", "*/*")
		want := says(restful.CurlyRouter{}.SelectRoute(all, request))
		if got := says(router.SelectRoute(all, request)); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}

// Clients cannot fill the memory.
func TestMemoryIsLimited(t *testing.T) {
	router, all := &remembering{next: restful.CurlyRouter{}}, services()
	for i := range 3 * most {
		if _, _, err := router.SelectRoute(all, newRequest("GET", "/version", "", fmt.Sprintf("*/*;q=0.%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(router.known); n > most {
		t.Errorf("%d shapes", n)
	}
	before := len(router.known)
	if _, _, err := router.SelectRoute(all, newRequest("GET", "/version", "", "*/*;"+strings.Repeat("x", longest))); err != nil {
		t.Fatal(err)
	}
	if len(router.known) != before {
		t.Error("a shape of more than a KiB is remembered")
	}
}

func BenchmarkSelectRoute(b *testing.B) {
	router, all := Remembering(restful.CurlyRouter{}), services()
	request := newRequest("GET", "/apis/other.org/v1/namespaces/example/things/one", "", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := router.SelectRoute(all, request); err != nil {
			b.Fatal(err)
		}
	}
}
