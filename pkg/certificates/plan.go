// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"time"
)

// Timing specifies when certificates are replaced. The zero value of each field is its default.
type Timing struct {
	// Validity is how long a certificate is valid, by default 90 days.
	Validity time.Duration
	// RenewBefore is how long before it expires a certificate is replaced, by default 30 days.
	RenewBefore time.Duration
	// Settle is the time for which every client must have had a CA before its certificate is served, by default 10 s: the replicas of
	// kube-apiserver receive it by a watch.
	Settle time.Duration
	// Drain is the time for which a certificate must have been served before the previous CA is removed, by default 30 s: the other
	// replicas of the server receive the certificate by a watch.
	Drain time.Duration
}

func (t Timing) withDefaults() Timing {
	for value, fallback := range map[*time.Duration]time.Duration{
		&t.Validity: 90 * 24 * time.Hour, &t.RenewBefore: 30 * 24 * time.Hour, &t.Settle: 10 * time.Second, &t.Drain: 30 * time.Second,
	} {
		if *value == 0 {
			*value = fallback
		}
	}
	return t
}

// action is what is to be done with the Secret.
type action string

const (
	// keep: nothing.
	keep action = "keep"
	// begin: there is nothing that could be served, so make a pair.
	begin action = "begin"
	// restore: the Secret was lost or replaced. Put back what is served, and stage a new pair: the user that deleted the Secret
	// wants another one.
	restore action = "restore"
	// remember: what is served here is not in the bundle.
	remember action = "remember"
	// stage generates the next pair and adds its CA to the bundle.
	stage action = "stage"
	// promote: every client trusts the next pair, so serve it.
	promote action = "promote"
	// prune: the bundle has CAs whose certificates no replica serves any more.
	prune action = "prune"
)

// view is what a replica knows.
type view struct {
	now    time.Time
	hosts  []string
	timing Timing
	// stored is the content of the Secret; nil when there is none, or none that could be used.
	stored *state
	// served is what this replica serves; nil when it serves nothing yet.
	served *pair
	// published is how long every client has had the stored bundle, as far as this replica knows. 0: not yet.
	published time.Duration
	// stable is how long this replica has served the stored pair. 0: it does not.
	stable time.Duration
}

// plan decides what is to be done with the Secret. Every replica decides for itself; the first write takes effect, and the others
// decide again.
func (v view) plan() action {
	servedValid := v.served.valid(v.now)
	switch {
	case v.stored == nil && servedValid:
		return restore
	case v.stored == nil:
		return begin
	case !v.stored.current.valid(v.now) && servedValid && !v.served.equal(v.stored.current):
		return restore
	case !v.stored.current.valid(v.now) && v.nextUsable():
		return promote // it cannot get worse
	case !v.stored.current.valid(v.now):
		return begin
	case servedValid && !trusts(v.stored.bundle, v.served.ca):
		return remember
	case v.stored.next == nil && v.due() || v.stored.next != nil && !v.nextUsable():
		return stage
	case v.stored.next != nil && v.published >= v.timing.Settle:
		return promote
	case v.stored.next == nil && len(split(v.stored.bundle)) > 1 && v.stable >= v.timing.Drain:
		return prune
	}
	return keep
}

// due reports whether the stored pair has to be replaced.
func (v view) due() bool {
	return !v.now.Before(v.renewal()) || !v.stored.current.covers(v.hosts)
}

func (v view) renewal() time.Time {
	return v.stored.current.tls.Leaf.NotAfter.Add(-v.timing.RenewBefore)
}

func (v view) nextUsable() bool {
	return v.stored.next.valid(v.now) && v.stored.next.covers(v.hosts)
}

// switches reports whether this replica may serve the stored pair from now on: clients trust it, or there is nothing better to
// serve.
func (v view) switches() bool {
	return v.stored != nil && v.stored.current.valid(v.now) && !v.served.equal(v.stored.current) &&
		(!v.served.valid(v.now) || v.published >= v.timing.Settle)
}

// wait is how long nothing has to be done, as long as no other client does anything.
func (v view) wait(longest time.Duration) time.Duration {
	switch {
	case v.stored == nil:
		return 0
	case v.stored.next != nil || !v.served.equal(v.stored.current):
		longest = min(longest, v.timing.Settle-v.published)
	case len(split(v.stored.bundle)) > 1:
		longest = min(longest, v.timing.Drain-v.stable)
	}
	if v.stored.next == nil {
		longest = min(longest, v.renewal().Sub(v.now))
	}
	return max(longest, time.Millisecond)
}

// after returns the state that an action leads to; fresh makes a pair.
func (v view) after(a action, fresh func() (*pair, error)) (*state, error) {
	switch a {
	case remember:
		return &state{current: v.stored.current, next: v.stored.next, bundle: trusting(v.stored.bundle, v.served.ca)}, nil
	case promote:
		return &state{current: v.stored.next, bundle: v.stored.bundle}, nil
	case prune:
		return &state{current: v.stored.current, bundle: v.stored.current.ca}, nil
	}
	made, err := fresh()
	if err != nil {
		return nil, err
	}
	switch a {
	case restore:
		return &state{current: v.served, next: made, bundle: trusting(v.served.ca, made.ca)}, nil
	case stage:
		return &state{current: v.stored.current, next: made, bundle: trusting(v.stored.bundle, made.ca)}, nil
	default:
		return &state{current: made, bundle: made.ca}, nil
	}
}
