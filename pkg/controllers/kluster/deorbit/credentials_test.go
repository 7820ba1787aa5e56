// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestCredentialsThatExpire checks a Deorbit whose credentials of OpenStack end while it deletes there: nothing counts as deleted that it
// cannot see. It continues with new credentials, and without them ends with what is left there in doubt.
func TestCredentialsThatExpire(t *testing.T) {
	for name, renewed := range map[string]bool{"renewed": true, "not renewed": false} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 1)
			l.kills = 0
			l.kluster.Spec.Deorbit.Timeout = &metav1.Duration{Duration: 6 * time.Hour}
			l.claim("data", "Delete")
			l.service("web", "IP", false)
			l.ccm, l.csi = false, false // OpenStack is cleaned up by Verify, in several checks
			l.begin(t, true)
			state := func() string {
				l.store.Find(l.kluster)
				return klustertest.Condition(l.kluster, kubernikusv1.ConditionDeorbited)
			}
			minutes := func(n int, until func() bool) {
				for range n {
					l.controllers()
					l.cloud.Settle()
					l.after(time.Minute, l.kluster)
					if state(); until() {
						return
					}
				}
			}
			minutes(300, func() bool { return l.kluster.Status.Deorbit.Stage == kubernikusv1.DeorbitVerify })
			l.cloud.AddUser("gardener", "another password", livesProject)
			l.cloud.RevokeTokens()
			minutes(120, func() bool { return strings.HasPrefix(state(), "True/") })
			if got := state(); !strings.HasPrefix(got, "False/CredentialsRefused") {
				t.Fatalf("condition = %s after two hours without credentials, want CredentialsRefused", got)
			}
			want := "True/" + reasonLeftovers
			if renewed {
				want = "True/" + reasonDone
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: "prod-secret"}}
				l.store.Find(secret)
				l.store.Change(secret, func() { secret.Data["openstack-password"] = []byte("another password") })
			}
			minutes(400, func() bool { return strings.HasPrefix(state(), "True/") })
			if got := state(); got != want {
				t.Errorf("condition = %s, want %s: %+v", got, want, l.kluster.Status.Deorbit.Remaining)
			}
			isInDoubt := slices.ContainsFunc(l.kluster.Status.Deorbit.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.Kind == projectKind })
			if isInDoubt == renewed {
				t.Errorf("the project is left in doubt: %t, remaining %+v", isInDoubt, l.kluster.Status.Deorbit.Remaining)
			}
			for id, kind := range l.made {
				if l.there()[id] && renewed {
					t.Errorf("%s %s is left", kind, id)
				}
			}
		})
	}
}
