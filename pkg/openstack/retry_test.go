// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	clocktesting "k8s.io/utils/clock/testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestRetryDecision(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const never = -1
	for name, c := range map[string]struct {
		method     string
		status     int // 0: no response
		retryAfter string
		failures   uint
		want       time.Duration
	}{
		"the first failure":                  {http.MethodGet, 503, "", 1, 100 * time.Millisecond},
		"the second is twice as long":        {http.MethodGet, 503, "", 2, 200 * time.Millisecond},
		"the last attempt":                   {http.MethodGet, 503, "", 3, never},
		"no response":                        {http.MethodDelete, 0, "", 1, 100 * time.Millisecond},
		"a PUT":                              {http.MethodPut, 500, "", 1, 100 * time.Millisecond},
		"a POST":                             {http.MethodPost, 503, "", 1, never},
		"a POST without a response":          {http.MethodPost, 0, "", 1, never},
		"a limited POST":                     {http.MethodPost, 429, "", 1, never},
		"a PATCH":                            {http.MethodPatch, 503, "", 1, never},
		"a rejection":                        {http.MethodGet, 400, "", 1, never},
		"a missing object":                   {http.MethodGet, 404, "", 1, never},
		"limited, without a word":            {http.MethodGet, 429, "", 1, 100 * time.Millisecond},
		"limited, in seconds":                {http.MethodGet, 429, "2", 1, 2 * time.Second},
		"limited, as a date":                 {http.MethodGet, 429, "Fri, 02 Jan 2026 03:04:08 GMT", 1, 3 * time.Second},
		"limited, for longer than requested": {http.MethodGet, 429, "60", 1, never},
		"limited, as a far date":             {http.MethodGet, 429, "Fri, 02 Jan 2026 04:04:08 GMT", 1, never},
		"a date that is over":                {http.MethodGet, 503, "Fri, 02 Jan 2026 03:04:00 GMT", 1, 100 * time.Millisecond},
		"unavailable, in seconds":            {http.MethodGet, 503, "1", 1, time.Second},
		"nonsense":                           {http.MethodGet, 503, "soon", 1, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			got := time.Duration(never)
			r := retry{
				options: Options{AllowPlainHTTP: true, Attempts: 3, MinBackoff: 100 * time.Millisecond, MaxBackoff: 5 * time.Second, Clock: clocktesting.NewFakePassiveClock(now)},
				pause:   func(_ context.Context, d time.Duration) error { got = d; return nil },
				random:  func() float64 { return 0 },
			}
			response := gophercloud.ErrUnexpectedResponseCode{Method: c.method, Actual: c.status, ResponseHeader: http.Header{"Retry-After": {c.retryAfter}}}
			failure, decide := error(response), r.failed
			if c.status == 0 {
				failure = errors.New("connection reset")
			}
			var err error
			if c.status == http.StatusTooManyRequests {
				err = r.limited(context.Background(), &response, nil, c.failures)
			} else {
				err = decide(context.Background(), c.method, "", nil, failure, c.failures)
			}
			if got != c.want || (err != nil) != (c.want == never) {
				t.Errorf("waits %s, %v", got, err)
			}
		})
	}
}

func TestRetriesAtTheWire(t *testing.T) {
	s := newFake(t, fake.Options{})
	id := s.AddRouter("garden", s.AddNetwork(subnetCIDR))
	path := "/network/v2.0/routers/" + id
	for name, c := range map[string]struct {
		faults []fake.Fault
		want   []string
	}{
		"unavailable": {[]fake.Fault{{Path: path, Status: 503, Times: 2}}, []string{"GET " + path + " 503", "GET " + path + " 503", "GET " + path + " 200"}},
		"limited":     {[]fake.Fault{{Path: path, Status: 429, Times: 1}}, []string{"GET " + path + " 429", "GET " + path + " 200"}},
		"cut":         {[]fake.Fault{{Path: path, Cut: fake.CutResponse, Times: 1}}, []string{"GET " + path + " 0", "GET " + path + " 200"}},
		"down":        {[]fake.Fault{{Path: path, Status: 500}}, []string{"GET " + path + " 500", "GET " + path + " 500", "GET " + path + " 500"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := connected(t, s)
			if _, err := client.Network().Router(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			s.Requests()
			for _, f := range c.faults {
				s.Inject(f)
			}
			defer s.Heal()
			_, err := client.Network().Router(context.Background(), id)
			if got := lines(s.Requests()); !slices.Equal(got, c.want) || (err != nil) != (name == "down") {
				t.Errorf("sent %q: %v", got, err)
			}
		})
	}
}

// TestBeforeWrite checks that each attempt of a change calls BeforeWrite and ends with its error, and that reads and logins do not.
func TestBeforeWrite(t *testing.T) {
	s := newFake(t, fake.Options{})
	lost := errors.New("the lease is lost")
	for name, c := range map[string]struct {
		allowed int
		fault   fake.Fault
	}{
		"at the first attempt":       {0, fake.Fault{}},
		"after a 503":                {1, fake.Fault{Method: http.MethodDelete, Status: 503}},
		"after a truncated response": {1, fake.Fault{Method: http.MethodDelete, Cut: fake.CutResponse}},
	} {
		t.Run(name, func(t *testing.T) {
			id, requested := s.AddVolume("garden", fake.Volume{Name: "data"}), 0
			o := quick()
			o.BeforeWrite = func() error {
				if requested++; requested > c.allowed {
					return lost
				}
				return nil
			}
			client, err := newClients(t, o).Get(t.Context(), secretFor(s, "u", "1", secretWord))
			if err != nil {
				t.Fatal(err)
			}
			if c.allowed > 0 {
				s.Inject(c.fault)
			}
			defer s.Heal()
			s.Requests()
			err = client.BlockStorage().DeleteVolume(t.Context(), id)
			if !errors.Is(err, lost) || ReasonOf(err) != ReasonCanceled {
				t.Errorf("error %v, want that the lease is lost", err)
			}
			if sent := count(s.Requests(), http.MethodDelete, "/volume/v3/volumes/"+id); sent != c.allowed || requested != c.allowed+1 {
				t.Errorf("%d deletions were sent, queried %d times, want %d", sent, requested, c.allowed)
			}
			if _, err := client.BlockStorage().Volumes(t.Context()); err != nil || requested != c.allowed+1 {
				t.Errorf("reading: %v, queried %d times", err, requested)
			}
		})
	}
}

func TestAuthenticationIsNotRepeated(t *testing.T) {
	s := newFake(t, fake.Options{})
	s.Inject(fake.Fault{Method: http.MethodPost, Status: 503})
	_, err := newClients(t, quick()).Get(context.Background(), secretFor(s, "u", "1", secretWord))
	if n := len(s.Requests()); n != 1 || ReasonOf(err) != ReasonUnreachable {
		t.Errorf("%d requests: %v", n, err)
	}
}
