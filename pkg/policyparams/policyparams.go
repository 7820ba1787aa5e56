// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package policyparams finds admission policies that reject every request for Groundskeeper's kinds, because Groundskeeper's API
// server is not allowed to read the parameters of the policy (spec.paramKind). A kube-apiserver may read everything, so that such a
// policy works for all other kinds, and the rejection only reports that the parameters are not yet synced.
package policyparams

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// AggregationLabel makes a ClusterRole part of what Groundskeeper's API server may read as parameters of policies.
const AggregationLabel = "groundskeeper.io/aggregate-to-policy-parameters"

// Problem is a policy that rejects every request for Groundskeeper's kinds that it matches.
type Problem struct {
	// Policy is its kind and name.
	Policy string `json:"policy"`
	// Reason names what is missing, and how it is given.
	Reason string `json:"reason"`
}

// Allowed reports whether Groundskeeper's API server has a verb on all objects of a resource.
type Allowed func(ctx context.Context, resource schema.GroupVersionResource, verb string) (bool, error)

// Find returns the policies whose parameters Groundskeeper's API server cannot read. Policies that a cluster does not serve yet are
// none.
func Find(ctx context.Context, host kubernetes.Interface, mapper meta.RESTMapper, allowed Allowed) ([]Problem, error) {
	validating, err := listValidating(ctx, host.AdmissionregistrationV1())
	if err != nil {
		return nil, err
	}
	mutating, err := listMutating(ctx, host.AdmissionregistrationV1())
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, p := range parameterized(append(validating, mutating...)) {
		reason, err := obstacle(ctx, p.param, mapper, allowed)
		if err != nil {
			return nil, fmt.Errorf("check the parameters of %s: %w", p.name, err)
		}
		if reason != "" {
			problems = append(problems, Problem{Policy: p.name, Reason: reason})
		}
	}
	return problems, nil
}

// obstacle returns what keeps Groundskeeper's API server from reading parameters of a kind, "" for nothing.
func obstacle(ctx context.Context, kind schema.GroupVersionKind, mapper meta.RESTMapper, allowed Allowed) (string, error) {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Sprintf("spec.paramKind: the kube-apiserver does not serve %s", kind), nil
	}
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", kind, err)
	}
	var missing []string
	for _, verb := range []string{"get", "list", "watch"} {
		ok, err := allowed(ctx, mapping.Resource, verb)
		if err != nil {
			return "", err
		}
		if !ok {
			missing = append(missing, verb)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	return fmt.Sprintf("groundskeeper-apiserver is not allowed to %s %s, its parameters, and rejects what it matches: create a ClusterRole "+
		"that allows it, with the label %s=true",
		strings.Join(missing, ", "), mapping.Resource.GroupResource(), AggregationLabel), nil
}

// parameter is a policy with the kind of its parameters.
type parameter struct {
	name  string
	param schema.GroupVersionKind
}

// parameterized returns the policies that read parameters for requests for Groundskeeper's kinds.
func parameterized(policies []policy) []parameter {
	var all []parameter
	for _, p := range policies {
		inUse := slices.ContainsFunc(p.bindings, func(b binding) bool { return b.hasParams && coversOwn(b.match) })
		if p.param == nil || !inUse || !coversOwn(p.match) {
			continue
		}
		all = append(all, parameter{p.name, schema.FromAPIVersionAndKind(p.param.APIVersion, p.param.Kind)})
	}
	return all
}

// coversOwn reports whether resource rules select one of Groundskeeper's groups. Without any, they select everything.
func coversOwn(match *admissionregistrationv1.MatchResources) bool {
	if match == nil || len(match.ResourceRules) == 0 {
		return true
	}
	own := []string{"*", gardenerv1beta1.GroupName, kubernikusv1.GroupName, midonetv1.GroupName, gimbalv1.GroupName}
	return slices.ContainsFunc(match.ResourceRules, func(rule admissionregistrationv1.NamedRuleWithOperations) bool {
		return slices.ContainsFunc(rule.APIGroups, func(group string) bool { return slices.Contains(own, group) })
	})
}
