// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

func TestRejectedByFreeze(t *testing.T) {
	for text, want := range map[string]bool{
		`persistentvolumeclaims "x" is forbidden: ValidatingAdmissionPolicy 'groundskeeper-deorbit' with binding 'groundskeeper-deorbit' denied request: no`:                       true,
		`Internal error occurred: failed calling webhook "creations.deorbit.groundskeeper.io": failed to call webhook: Post "https://127.0.0.1:1/?timeout=1s": connection refused`: true,
		`persistentvolumeclaims "x" is forbidden: ValidatingAdmissionPolicy 'other' with binding 'other' denied request: groundskeeper-deorbit`:                                    false,
		`ValidatingAdmissionPolicy 'groundskeeper-deorbit' failed to configure binding: no params`:                                                                                 false,
		`Internal error occurred: failed calling webhook "creations.example.com": failed to call webhook: Post "https://127.0.0.1:1/?timeout=1s": connection refused`:              false,
		`persistentvolumeclaims "x" is forbidden: exceeded quota: groundskeeper-deorbit`:                                                                                           false,
		`persistentvolumeclaims "x" is forbidden: User "u" cannot create resource "persistentvolumeclaims"`:                                                                        false,
	} {
		if rejectedByFreeze(text) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}

// TestFreezeWebhooks checks that updates of Services are admitted if a webhook cannot check them, because load balancers could not
// be cleaned up otherwise.
func TestFreezeWebhooks(t *testing.T) {
	for _, conditions := range []bool{true, false} {
		for _, w := range freezeWebhooks(conditions).Webhooks {
			for _, r := range w.Rules {
				if slices.Contains(r.Operations, admissionv1.Update) && len(w.MatchConditions) == 0 || slices.Contains(r.Operations, admissionv1.Delete) || slices.Contains(r.Operations, admissionv1.OperationAll) {
					t.Errorf("%s blocks %v", *w.Name, r.Operations)
				}
			}
			if *w.FailurePolicy != admissionv1.Fail || *w.SideEffects != admissionv1.SideEffectClassNone || w.NamespaceSelector != nil || w.ObjectSelector != nil {
				t.Errorf("%s admits a user", *w.Name)
			}
		}
	}
	if freezeWebhooks(true).Webhooks[1].MatchConditions == nil || freezeWebhooks(false).Webhooks[1].MatchConditions != nil {
		t.Error("conditions are where they cannot be, or not where they can")
	}
}
