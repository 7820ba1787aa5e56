// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Kinds of configurations of webhooks.
const (
	kindValidating = "ValidatingWebhookConfiguration"
	kindMutating   = "MutatingWebhookConfiguration"
)

// probesToRemove is the number of consecutive checks in which a webhook must be unreachable to be removed, because it may be restarting.
const probesToRemove = 2

// removeUnreachable counts the webhooks that could not be reached in this check, and removes those for which it was not the first
// time in a row. One that responds is never among them, whatever it responds.
func (c *Connection) removeUnreachable(ctx context.Context, now map[webhook]bool) ([]kubernikusv1.DeorbitObject, error) {
	counts, due := map[webhook]int{}, []webhook(nil)
	for hook := range now {
		if counts[hook] = c.unreachable[hook] + 1; counts[hook] >= probesToRemove {
			due = append(due, hook)
		}
	}
	if c.unreachable = counts; len(due) == 0 {
		return nil, nil
	}
	entries, err := c.webhooks(ctx)
	if err != nil {
		return nil, err
	}
	var removed []kubernikusv1.DeorbitObject
	done := map[string]bool{} // a configuration is another one after the first removal
	for _, entry := range entries {
		if done[entry.kind+entry.config] || !slices.ContainsFunc(due, entry.is) {
			continue
		}
		done[entry.kind+entry.config] = true
		verdict, err := judge(c.removeWebhook(ctx, entry))
		if err != nil {
			return removed, c.failed(fmt.Sprintf("remove webhook %s from %s %s", entry.name, entry.kind, entry.config), err)
		}
		if verdict == accepted {
			log.FromContext(ctx).Info("Removed a webhook that blocked deletions and could not be reached",
				"kind", entry.kind, "configuration", entry.config, "webhook", entry.name)
			removed = append(removed, kubernikusv1.DeorbitObject{
				Kind: entry.kind, Name: entry.config, Reason: fmt.Sprintf("webhook %s blocked deletions and could not be reached", c.clean(entry.name)),
			})
		}
	}
	return removed, nil
}

type entry struct {
	kind, config, version string
	index                 int
	name                  string
	client                admissionv1.WebhookClientConfig
	rules                 []admissionv1.RuleWithOperations
}

// webhooks lists the webhooks of a cluster except Groundskeeper's, which is to be unreachable.
func (c *Connection) webhooks(ctx context.Context) ([]entry, error) {
	api := c.kube.AdmissionregistrationV1()
	validating, err := whole(ctx, api.ValidatingWebhookConfigurations().List,
		all(func(config *admissionv1.ValidatingWebhookConfiguration) (entries []entry) {
			for i, w := range config.Webhooks {
				entries = append(entries, entry{kindValidating, config.Name, config.ResourceVersion, i, w.Name, w.ClientConfig, w.Rules})
			}
			return entries
		}))
	if err != nil {
		return nil, c.failed("list validatingwebhookconfigurations", err)
	}
	mutating, err := whole(ctx, api.MutatingWebhookConfigurations().List,
		all(func(config *admissionv1.MutatingWebhookConfiguration) (entries []entry) {
			for i, w := range config.Webhooks {
				entries = append(entries, entry{kindMutating, config.Name, config.ResourceVersion, i, w.Name, w.ClientConfig, w.Rules})
			}
			return entries
		}))
	if err != nil {
		return nil, c.failed("list mutatingwebhookconfigurations", err)
	}
	entries := slices.Concat(slices.Concat(validating...), slices.Concat(mutating...))
	return slices.DeleteFunc(entries, func(e entry) bool { return e.config == freezeName }), nil
}

// is reports whether an entry is a webhook that the API server could not reach.
func (e entry) is(hook webhook) bool {
	operation := admissionv1.OperationType(hook.operation)
	received := slices.ContainsFunc(e.rules, func(r admissionv1.RuleWithOperations) bool {
		return slices.Contains(r.Operations, operation) || slices.Contains(r.Operations, admissionv1.OperationAll)
	})
	return received && e.name == hook.name && sameURL(e.url(), hook.url)
}

// url returns where the API server calls the webhook.
func (e entry) url() string {
	switch service := e.client.Service; {
	case e.client.URL != nil:
		return *e.client.URL
	case service != nil:
		host := net.JoinHostPort(service.Name+"."+service.Namespace+".svc", strconv.Itoa(int(ptr.Deref(service.Port, 443))))
		return "https://" + host + "/" + strings.TrimPrefix(ptr.Deref(service.Path, ""), "/")
	}
	return ""
}

// sameURL compares except for what the API server adds: a port, a slash, a timeout.
func sameURL(a, b string) bool {
	one, err := url.Parse(a)
	other, otherErr := url.Parse(b)
	if err != nil || otherErr != nil {
		return false
	}
	return one.Hostname() != "" && one.Hostname() == other.Hostname() && cmp.Or(one.Port(), "443") == cmp.Or(other.Port(), "443") &&
		strings.Trim(one.Path, "/") == strings.Trim(other.Path, "/")
}
