// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

// fakePages are the pages on which the fake of MidoNet shows what it was queried and takes hosts and faults.
type fakePages struct{ root string }

// Sends a request to a page; in is the body, empty for none, and out takes the response, nil for none.
func (f *fakePages) request(ctx context.Context, method, page string, in []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, f.root+page, strings.NewReader(string(in)))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: %s", response.Status, data)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return fmt.Errorf("%s %s of the fake: %w", method, page, err)
	}
	return nil
}

// backendRequests are numbers of requests to the backend, without logins.
type backendRequests map[fakemidonet.Count]int

// requests returns the requests since the last discard.
func (f *fakePages) requests(ctx context.Context) (backendRequests, error) {
	var page struct {
		Counts []struct {
			fakemidonet.Count
			Requests int `json:"requests"`
		} `json:"counts"`
	}
	if err := f.request(ctx, http.MethodGet, "requests", nil, &page); err != nil {
		return nil, err
	}
	requests := backendRequests{}
	for _, row := range page.Counts {
		if row.Path != "/login" {
			requests[row.Count] = row.Requests
		}
	}
	return requests, nil
}

func (f *fakePages) clear(ctx context.Context) error {
	return f.request(ctx, http.MethodDelete, "requests", nil, nil)
}

// of counts the requests that a function selects.
func (r backendRequests) of(is func(fakemidonet.Count) bool) int {
	n := 0
	for c, requests := range r {
		if is(c) {
			n += requests
		}
	}
	return n
}

func isWrite(c fakemidonet.Count) bool { return c.Method != http.MethodGet }

// isRejected counts cut connections, too.
func isRejected(c fakemidonet.Count) bool { return c.Code < 200 || c.Code >= 300 }

// isSingleRead reports whether a request reads one resource, and is not a list.
func isSingleRead(c fakemidonet.Count) bool { return !isWrite(c) && strings.HasSuffix(c.Path, "/*") }

// isListing reports whether a request reads a collection.
func isListing(c fakemidonet.Count) bool { return !isWrite(c) && !isSingleRead(c) }

// translationWrites are the writes of Translations that Groundskeeper's API server has responded: creates, statuses, all others,
// and of all these the ones it rejected.
type translationWrites struct{ creates, statuses, others, rejected float64 }

func (w translationWrites) minus(before translationWrites) translationWrites {
	return translationWrites{w.creates - before.creates, w.statuses - before.statuses, w.others - before.others, w.rejected - before.rejected}
}

func (w translationWrites) all() float64 { return w.creates + w.statuses + w.others }

// writesOfTranslations reads the metrics of Groundskeeper's API server.
func writesOfTranslations(ctx context.Context, p *plane.Plane) (translationWrites, error) {
	client, err := rest.HTTPClientFor(p.DirectConfig(0))
	if err != nil {
		return translationWrites{}, err
	}
	defer client.CloseIdleConnections()
	samples, err := probe.Scrape(ctx, client, "https://"+p.APIServers[0].Address()+"/metrics", "apiserver_request_total")
	var writes translationWrites
	for _, s := range samples {
		if s.Labels["resource"] != "translations" {
			continue
		}
		switch verb := s.Labels["verb"]; {
		case verb == "POST":
			writes.creates += s.Value
		case verb != "PUT" && verb != "PATCH" && verb != "APPLY" && !strings.HasPrefix(verb, "DELETE"):
			continue
		case s.Labels["subresource"] == "status":
			writes.statuses += s.Value
		default:
			writes.others += s.Value
		}
		if !strings.HasPrefix(s.Labels["code"], "2") {
			writes.rejected += s.Value
		}
	}
	return writes, err
}

// networkUsage returns what the processes have used.
func networkUsage(p *plane.Plane) (map[string]probe.Usage, error) {
	used := map[string]probe.Usage{}
	for _, process := range p.Processes() {
		pid := process.PID()
		if pid == 0 {
			continue // it is stopped
		}
		u, err := probe.UsageOf(pid)
		if err != nil {
			return nil, fmt.Errorf("cannot measure %s: %w", process.Name(), err)
		}
		used[process.Name()] = u
	}
	return used, nil
}
