// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// kindPolicy is the kind that freezes a cluster that has it.
const kindPolicy = "ValidatingAdmissionPolicy"

// admissionAPI is where policies and webhooks are.
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

// Thaw lifts the freeze, if Groundskeeper set it, and reports whether there was one: without its binding the policy rejects nothing. An error is as
// that of Run.
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

// lift deletes the object of a kind that freezes the cluster, unless another client made it.
func lift[O metav1.Object](ctx context.Context, api interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}) (lifted bool, err error) {
	found, err := api.Get(ctx, freezeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", freezeName, err)
	}
	if !slices.ContainsFunc(found.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager }) {
		return false, nil
	}
	err = api.Delete(ctx, freezeName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(found.GetUID())}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err //nolint:wrapcheck // the caller names what it does
}

// probe reports why the cluster is not frozen, by a claim that it must reject. Where something else rejects that before the
// policies are queried (LimitRanges are), another namespace shows it.
func (c *Connection) probe(ctx context.Context) (reason string, err error) {
	for _, namespace := range probedNamespaces {
		_, response := c.kube.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, freezeProbe(namespace),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		if response == nil {
			return "it is not in force yet: a dry run may create a claim in namespace " + namespace, nil
		}
		if rejectedByFreeze(response.Error()) {
			return "", nil
		}
		if _, err := judge(response); err != nil {
			return "", c.failed("create a claim in a dry run", err)
		}
		reason = fmt.Sprintf("it is not seen to be in force: a claim in namespace %s is rejected by something else: %s", namespace, c.clean(response.Error()))
	}
	return reason, nil
}

// applyPolicy writes the policy and its binding.
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

// ensure writes an object as desired, unless it is so already, and returns it.
func ensure[A any, O metav1.Object](ctx context.Context, wanted A, api configurations[A, O], extract func(O, string) (A, error)) (O, error) {
	live, err := api.Get(ctx, freezeName, metav1.GetOptions{})
	exists := err == nil
	switch {
	case exists:
		// The managed fields show whether another client has changed the object since the last write.
		if own, err := extract(live, fieldManager); err == nil && equality.Semantic.DeepEqual(own, wanted) {
			return live, nil
		}
	case !apierrors.IsNotFound(err):
		return live, err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	written, err := api.Apply(ctx, wanted, options)
	if !exists || !apierrors.IsInvalid(err) {
		return written, err
	}
	// Changes of another client are in conflict with the desired state: replace the object.
	if err := api.Delete(ctx, freezeName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(live.GetUID())}}); err != nil {
		return live, err
	}
	return api.Apply(ctx, wanted, options)
}

// configurations is a typed client of a kind of objects that freeze a cluster.
type configurations[A, O any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Apply(ctx context.Context, wanted A, options metav1.ApplyOptions) (O, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}
