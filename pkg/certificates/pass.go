// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// maxSteps bounds a reconciliation: from nothing to a pruned bundle it takes fewer.
const maxSteps = 10

// pass does what is to be done and returns how long there will be nothing to do. Each step reads the Secret, notifies the targets
// of its bundle, serves what may be served, and writes the Secret at most once.
func (k *Keeper) pass(ctx context.Context) (time.Duration, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range maxSteps {
		secret, stored, err := k.read(ctx)
		if err != nil {
			return 0, err
		}
		var unpublished error
		if stored != nil {
			unpublished = k.publishAll(ctx, stored.bundle)
		}
		v := k.view(stored)
		if v.switches() {
			k.serve(stored.current)
			logr.FromContextOrDiscard(ctx).Info("Serving another certificate", "notAfter", stored.current.tls.Leaf.NotAfter)
			v = k.view(stored)
		}
		todo := v.plan()
		if todo == keep {
			return v.wait(resync), unpublished
		}
		if err := k.write(ctx, secret, v, todo); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("secret %s/%s: another client writes it all the time", k.options.Namespace, k.options.Name)
}

// view returns what this replica knows now.
func (k *Keeper) view(stored *state) view {
	now := time.Now()
	v := view{now: now, hosts: k.options.Hosts, timing: k.options.Timing, stored: stored, served: k.served.Load()}
	if stored == nil {
		return v
	}
	if k.published.bundle == string(stored.bundle) {
		v.published = now.Sub(k.published.since)
	}
	if v.served.equal(stored.current) {
		v.stable = now.Sub(k.loadedAt)
	}
	return v
}

// read reads the Secret. The state is nil when there is no Secret, or none that could be used.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, *state, error) {
	secret, err := k.get(ctx, k.options.Name, "delete it, or give the server certificates in files")
	if secret == nil || err != nil {
		return nil, nil, err
	}
	stored, err := decode(secret)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Replacing an unusable certificate", "err", err.Error())
		return secret, nil, nil
	}
	return secret, stored, nil
}

// write does an action.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, v view, todo action) error {
	next, err := v.after(todo, func() (*pair, error) { return issue(k.options.Name, k.options.Hosts, k.options.Timing.Validity) })
	if err != nil {
		return err
	}
	wrote, err := k.put(ctx, k.options.Name, secret, next.data())
	if wrote {
		logr.FromContextOrDiscard(ctx).Info("Wrote the certificate", "step", string(todo), "authorities", len(split(next.bundle)))
	}
	return err
}

// publishAll writes the bundle to every target, and notes since when all of them have it.
func (k *Keeper) publishAll(ctx context.Context, bundle []byte) error {
	var errs []error
	wrote := false
	for _, target := range k.options.Targets {
		changed, err := k.publish(ctx, target, bundle)
		if err != nil {
			errs = append(errs, err)
		}
		wrote = wrote || changed
	}
	switch {
	case len(errs) > 0:
		k.published = published{}
	case wrote || k.published.bundle != string(bundle):
		k.published = published{string(bundle), time.Now()}
	}
	return errors.Join(errs...)
}

// remind is how often a problem that lasts is reported again: logs of the day that it began on may have been deleted.
const remind = 24 * time.Hour

// problem is what was logged last.
type problem struct {
	text     string
	reported time.Time
}

// isNews reports whether to log an error: another one, or one that lasts since it was logged a day ago.
func (p *problem) isNews(err error, now time.Time) bool {
	if p.text == err.Error() && now.Sub(p.reported) < remind {
		return false
	}
	*p = problem{err.Error(), now}
	return true
}
