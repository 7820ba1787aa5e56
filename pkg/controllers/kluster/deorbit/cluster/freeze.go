// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// kindPolicy is the kind that freezes a cluster that has it.
const kindPolicy = "ValidatingAdmissionPolicy"

const admissionAPI = "/apis/admissionregistration.k8s.io/v1"

// probedNamespaces are where the freeze is probed, in this order.
var probedNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem}

// conditionsSince is the version from which on webhooks have conditions.
var conditionsSince = version.MustParseGeneric("1.28")

// freeze makes the cluster reject new cloud objects, and reports what blocks it. It is done when a claim is rejected: a policy that
// is written takes a moment to be in force.
func (c *Connection) freeze(ctx context.Context) ([]kubernikusv1.DeorbitObject, error) {
	served, err := c.served(ctx, admissionAPI)
	if err != nil {
		return nil, err
	}
	kind, apply := kindPolicy, c.applyPolicy
	if !served["validatingadmissionpolicies"] {
		kind, apply = kindValidating, c.applyWebhooks
	}
	remaining := func(reason string) []kubernikusv1.DeorbitObject {
		return []kubernikusv1.DeorbitObject{{Kind: kind, Name: freezeName, Reason: reason}}
	}
	if response := apply(ctx); response != nil {
		if _, err := judge(response); err != nil {
			return nil, c.failed("write "+kind+" "+freezeName, err)
		}
		return remaining(c.rejection(response)), nil
	}
	reason, err := c.probe(ctx)
	if err != nil || reason == "" {
		return nil, err
	}
	return remaining(reason), nil
}

// Thaw lifts the freeze, if Groundskeeper set it, and reports whether there was one: without its binding the policy rejects nothing. An
// error is as that of Run.
func (c *Connection) Thaw(ctx context.Context) (lifted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	served, err := c.served(ctx, admissionAPI)
	if err != nil {
		return false, err
	}
	if served["validatingadmissionpolicies"] {
		lifted, err = lift(ctx, c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings())
	} else {
		lifted, err = lift(ctx, c.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations())
	}
	return lifted, c.failed("lift the freeze", err)
}

func (c *Connection) applyPolicy(ctx context.Context) error {
	policies := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if _, err := ensure(ctx, freezePolicy(), policies, admissionapply.ExtractValidatingAdmissionPolicy); err != nil {
		return err
	}
	bindings := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err := ensure(ctx, freezeBinding(), bindings, admissionapply.ExtractValidatingAdmissionPolicyBinding)
	return err
}

// applyWebhooks writes the webhooks that lead nowhere.
func (c *Connection) applyWebhooks(ctx context.Context) error {
	configs := c.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	conditions, err := c.hasConditions(ctx)
	if err != nil {
		return err
	}
	written, err := ensure(ctx, freezeWebhooks(conditions), configs, admissionapply.ExtractValidatingWebhookConfiguration)
	if err != nil || !conditions {
		return err
	}
	// A server that has them disabled drops them, and every update of a Service would be rejected.
	for _, w := range written.Webhooks {
		if len(w.MatchConditions) > 0 {
			return nil
		}
	}
	_, err = ensure(ctx, freezeWebhooks(false), configs, admissionapply.ExtractValidatingWebhookConfiguration)
	return err
}

func (c *Connection) hasConditions(ctx context.Context) (bool, error) {
	text, err := c.kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return false, err
	}
	var info apimachineryversion.Info
	if err := json.Unmarshal(text, &info); err != nil {
		return false, nil //nolint:nilerr // without a version it is taken for an old one
	}
	v, err := version.ParseGeneric(info.GitVersion)
	return err == nil && v.AtLeast(conditionsSince), nil
}
