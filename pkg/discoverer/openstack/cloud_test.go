// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// aSession returns one with the user of a fake of the wire.
func aSession(t *testing.T) (*Session, *fake.Server, *clocktesting.FakePassiveClock) {
	t.Helper()
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	s.AddUser("gimbal", "hunter2", "shop")
	s.AddProject("gimbal", "0123", "bank")
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	credentials := openstack.Credentials{AuthURL: s.AuthURL(), Username: "gimbal", UserDomainID: "default", Password: "hunter2", ProjectName: "shop", ProjectDomainID: "default"}
	options := openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, MaxBackoff: time.Second, Timeout: 10 * time.Second}
	return NewSession(credentials, options, clock), s, clock
}

// authentications are how many tokens were requested since the last call.
func authentications(s *fake.Server) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/auth/tokens") {
			n++
		}
	}
	return n
}

// TestSession checks that a user gets one token per project, and reuses it.
func TestSession(t *testing.T) {
	session, s, _ := aSession(t)
	for range 3 {
		projects, err := session.Projects(t.Context())
		if err != nil || len(projects) != 2 {
			t.Fatal(projects, err)
		}
		for _, project := range []string{"shop", "0123"} {
			if _, err := session.LoadBalancing(t.Context(), project); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := authentications(s); n != 2 {
		t.Errorf("%d authentications", n)
	}
	session.Retain(func(project string) bool { return project != "0123" })
	if _, err := session.LoadBalancing(t.Context(), "0123"); err != nil || authentications(s) != 1 {
		t.Error("a project that was discarded is not authenticated for again", err)
	}
	for _, project := range []string{"0123", "shop"} {
		session.Renew(project)
		if _, err := session.LoadBalancing(t.Context(), project); err != nil || authentications(s) != 1 {
			t.Errorf("there is no new token for project %s: %v", project, err)
		}
	}
}

// TestRejectedSession checks that rejected credentials are retried after a minute, because Keystone may lock a user with too many
// failures.
func TestRejectedSession(t *testing.T) {
	session, s, clock := aSession(t)
	s.AddUser("gimbal", "changed", "shop")
	for range 3 {
		_, err := session.Projects(t.Context())
		if problem := problemOf(err); problem.Type != gimbalv1.ErrorAuthentication {
			t.Error(problem, err)
		}
	}
	if n := authentications(s); n != 1 {
		t.Errorf("%d authentications", n)
	}
	s.AddUser("gimbal", "hunter2", "shop")
	clock.SetTime(clock.Now().Add(rejectionPause))
	if _, err := session.Projects(t.Context()); err != nil {
		t.Error(err)
	}
	// For one project as well, and for that one alone.
	s.DisableProject("0123", true)
	s.Requests()
	for range 3 {
		if _, err := session.LoadBalancing(t.Context(), "0123"); openstack.ReasonOf(err) != openstack.ReasonCredentialsRefused {
			t.Error(err)
		}
	}
	if n := authentications(s); n != 1 {
		t.Errorf("%d authentications", n)
	}
	if _, err := session.LoadBalancing(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
}

// TestSessionWithExpiredToken checks that an expired token is renewed without an error, and that a changed password is an error.
func TestSessionWithExpiredToken(t *testing.T) {
	session, s, _ := aSession(t)
	if _, err := session.Projects(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.RevokeTokens()
	if _, err := session.Projects(t.Context()); err != nil {
		t.Error(err)
	}
	s.AddUser("gimbal", "changed", "shop")
	s.RevokeTokens()
	_, err := session.Projects(t.Context())
	if problem := problemOf(err); problem.Type != gimbalv1.ErrorAuthentication || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// An unreachable cloud is reported as what it is.
func TestSessionWithoutCloud(t *testing.T) {
	session, s, _ := aSession(t)
	s.Close()
	_, err := session.Projects(t.Context())
	if problem := problemOf(err); problem.Type != gimbalv1.ErrorConnection || !strings.Contains(problem.Message, "rejects connections") || !isSilent(err) || responseOf(err) != report.Silent {
		t.Error(problem, err)
	}
}

// TestResponseOfAny checks that a cloud is considered reachable if it responds about any project, and silent if nothing responds about all.
func TestResponseOfAny(t *testing.T) {
	unreachable := func(cause error) error {
		return fmt.Errorf("%w: %w", &openstack.Error{Reason: openstack.ReasonUnreachable}, cause)
	}
	silent := unreachable(syscall.ECONNREFUSED)
	broken := &openstack.Error{Reason: openstack.ReasonUnreachable, Status: http.StatusServiceUnavailable}
	certificate := unreachable(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	for name, tc := range map[string]struct {
		errs []error
		want report.Response
	}{
		"no project":               {nil, report.Responded},
		"listed":                   {[]error{nil}, report.Responded},
		"nothing responds":         {[]error{silent, silent}, report.Silent},
		"one responds":             {[]error{silent, nil}, report.Responded},
		"an error response":        {[]error{silent, broken}, report.Responded},
		"the wrong CA":             {[]error{certificate}, report.Unclear},
		"the wrong CA and silence": {[]error{silent, certificate}, report.Unclear},
		"a redirect":               {[]error{&openstack.Error{Status: http.StatusFound}}, report.Unclear},
		"another cause":            {[]error{unreachable(errors.New("malformed"))}, report.Unclear},
		"no service":               {[]error{&openstack.Error{Reason: openstack.ReasonServiceMissing}}, report.Responded},
		"disabled":                 {[]error{errDisabled}, report.Responded},
		"too many requests":        {[]error{&openstack.Error{Reason: openstack.ReasonRateLimited, Status: http.StatusTooManyRequests}, nil, silent}, report.Limited},
		"no turn here":             {[]error{&openstack.Error{Reason: openstack.ReasonRateLimited}}, report.Unclear},
		"canceled here":            {[]error{&openstack.Error{Reason: openstack.ReasonCanceled}}, report.Unclear},
	} {
		t.Run(name, func(t *testing.T) {
			var outcomes []*outcome
			for _, err := range tc.errs {
				outcomes = append(outcomes, &outcome{err: err})
			}
			if got := responseOfAny(outcomes); got != tc.want {
				t.Errorf("response = %d, want %d", got, tc.want)
			}
		})
	}
}
