// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func TestObjects(t *testing.T) {
	now, before, other := &kubernikusv1.Kluster{}, &kubernikusv1.Kluster{}, &metav1.Status{}
	for name, tc := range map[string]struct {
		operation   admission.Operation
		object, old runtime.Object
		wantOld     *kubernikusv1.Kluster
		rejection   string
	}{
		"a creation":        {admission.Create, now, nil, nil, ""},
		"an update":         {admission.Update, now, before, before, ""},
		"no update":         {admission.Create, now, before, nil, ""},
		"of another kind":   {admission.Create, other, nil, nil, "a *v1.Status is not a Kluster"},
		"was another kind":  {admission.Update, now, other, nil, "a *v1.Status is not a Kluster"},
		"without an object": {admission.Create, nil, nil, nil, "a <nil> is not a Kluster"},
		"of a nil object":   {admission.Update, now, nil, nil, "a <nil> is not a Kluster"},
	} {
		gv := kubernikusv1.SchemeGroupVersion
		object, old, err := Objects[kubernikusv1.Kluster](admission.NewAttributesRecord(tc.object, tc.old, gv.WithKind("Kluster"), "shop", "web",
			gv.WithResource("klusters"), "", tc.operation, nil, false, nil))
		switch {
		case tc.rejection != "":
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.rejection) {
				t.Errorf("%s: got %v, want %s", name, err, tc.rejection)
			}
		case err != nil || object != now || old != tc.wantOld:
			t.Errorf("%s: %p, %p, %v", name, object, old, err)
		}
	}
}

// decision is an authorizer with a constant decision.
type decision struct {
	decision authorizer.Decision
	err      error
}

func (a decision) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return a.decision, "", a.err
}

func TestPermissions(t *testing.T) {
	away := errors.New("kube-apiserver is unavailable")
	for name, tc := range map[string]struct {
		decision
		allowed bool
		err     error
	}{
		"allowed":                  {decision{authorizer.DecisionAllow, nil}, true, nil},
		"denied":                   {decision{authorizer.DecisionDeny, nil}, false, nil},
		"unknown":                  {decision{authorizer.DecisionNoOpinion, nil}, false, nil},
		"no response":              {decision{authorizer.DecisionNoOpinion, away}, false, away},
		"allowed by one of two":    {decision{authorizer.DecisionAllow, away}, true, nil},
		"denied, with a complaint": {decision{authorizer.DecisionDeny, away}, false, away},
	} {
		var permissions Permissions
		if permissions.ValidateInitialization() == nil {
			t.Error("it is content without an authorizer")
		}
		permissions.SetUnconditionalAuthorizer(tc.decision)
		if err := permissions.ValidateInitialization(); err != nil {
			t.Error(err)
		}
		allowed, err := permissions.Allowed(t.Context(), authorizer.AttributesRecord{})
		if allowed != tc.allowed || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %t, %v", name, allowed, err)
		}
	}
}
