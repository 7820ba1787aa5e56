// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// standbyClient has one DiscoveryBackend, and remembers the errors that were last applied and how often.
type standbyClient struct {
	backend gimbalv1.DiscoveryBackend
	errors  []string
	writes  int
}

func (c *standbyClient) Get(context.Context, string, metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error) {
	return c.backend.DeepCopy(), nil
}

func (c *standbyClient) Patch(_ context.Context, name string, _ types.PatchType, patch []byte, options metav1.PatchOptions, _ ...string) (*gimbalv1.DiscoveryBackend, error) {
	var sent document
	if err := json.Unmarshal(patch, &sent); err != nil || name != sent.Metadata.Name || sent.Metadata.UID != c.backend.UID {
		return nil, fmt.Errorf("%s: %s: %w", name, patch, err)
	}
	c.writes++
	c.errors = nil
	for _, entry := range sent.Status.Errors {
		c.errors = append(c.errors, entry.Type+" "+entry.Message)
	}
	c.backend.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: options.FieldManager}}
	return c.backend.DeepCopy(), nil
}

func TestStandby(t *testing.T) {
	rejected := Problem{gimbalv1.ErrorAuthentication, "refused"}
	for name, test := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		problem  bool
		// lasts is how long it waits for the Lease.
		lasts time.Duration
		// while and atEnd are how often it writes.
		while, atEnd int
	}{
		"nothing is wrong":                       {lasts: time.Minute},
		"the credentials are rejected":           {problem: true, lasts: time.Minute, while: 1, atEnd: 1},
		"the first one need not wait":            {problem: true, lasts: settle / 2},
		"another one was killed while it waited": {managers: []metav1.ManagedFieldsEntry{{Manager: standbyOwner}}, lasts: time.Minute, atEnd: 1},
		"one that works wrote":                   {managers: []metav1.ManagedFieldsEntry{{Manager: fieldOwner}}, lasts: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &standbyClient{backend: gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{UID: "1", ManagedFields: test.managers}}}
				standby := &Standby{Client: client, Namespace: "n", Name: "b", Ledger: NewLedger(clock.RealClock{}), Clock: clock.RealClock{}}
				if test.problem {
					standby.Ledger.Set("backend", rejected)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					standby.Run(ctx)
				}()
				time.Sleep(test.lasts)
				synctest.Wait()
				if client.writes != test.while || test.while > 0 && strings.Join(client.errors, "; ") != "AuthenticationError "+standbyPrefix+"refused" {
					t.Errorf("while it waits: %d writes, errors %q", client.writes, client.errors)
				}
				cancel()
				<-ended
				if client.writes != test.while+test.atEnd || len(client.errors) > 0 {
					t.Errorf("at the end: %d writes, errors %q", client.writes, client.errors)
				}
			})
		})
	}
}

// TestStandbyFollows checks that a problem is written once, and removed when it is fixed.
func TestStandbyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, ledger := &standbyClient{}, NewLedger(clock.RealClock{})
		standby := &Standby{Client: client, Namespace: "n", Name: "b", Ledger: ledger, Clock: clock.RealClock{}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			standby.Run(ctx)
		}()
		for _, step := range []struct {
			problems     []Problem
			errs, writes int
		}{
			{[]Problem{{gimbalv1.ErrorAuthentication, "refused"}}, 1, 1},
			{[]Problem{{gimbalv1.ErrorAuthentication, "refused"}}, 1, 1},
			{nil, 0, 2},
		} {
			ledger.Set("backend", step.problems...)
			time.Sleep(2 * settle)
			synctest.Wait()
			if client.writes != step.writes || len(client.errors) != step.errs {
				t.Errorf("%v: %d writes, errors %q", step.problems, client.writes, client.errors)
			}
		}
		cancel()
		<-ended
	})
}
