// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claimcheck

import (
	"bytes"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const prefix = "/registry-test"

// write is a change of a key at a revision. The value of a Project is the name of its namespace.
type write struct {
	revision   int64
	key, value string
}

// deletion is the value of a key that is deleted.
const deletion = "(deleted)"

func TestHistory(t *testing.T) {
	const (
		p, q          = projects + "p", projects + "q"
		us, east      = backends + "a/us", backends + "b/us-east"
		claimX        = "/claims" + projects + "garden-x/"
		claimY        = "/claims" + projects + "garden-y/"
		reservationUS = "/claims" + backends + "us-"
		claimEast     = "/claims" + backends + "us-east-"
		claimUSA      = "/claims" + backends + "usa-"
		otherCluster  = backends + "b/usa"
	)
	for name, test := range map[string]struct {
		writes []write
		want   string // "" for a history without a fault
	}{
		"with its claim, and without it again": {[]write{{2, p, "garden-x"}, {2, claimX, p}, {3, p, deletion}, {3, claimX, deletion}, {4, q, "garden-x"}, {4, claimX, q}}, ""},
		"a change that keeps the name":         {[]write{{2, p, "garden-x"}, {2, claimX, p}, {3, p, "garden-x"}}, ""},
		"a change of the name":                 {[]write{{2, p, "garden-x"}, {2, claimX, p}, {3, p, "garden-y"}, {3, claimX, deletion}, {3, claimY, p}}, ""},
		"names beside each other":              {[]write{{2, us, ""}, {2, reservationUS, us}, {3, otherCluster, ""}, {3, claimUSA, otherCluster}}, ""},
		"other keys":                           {[]write{{2, "/kubernikus.sap.cc/klusters/a/us", "x"}, {3, "/store", "x"}}, ""},

		"no claim":                                {[]write{{2, p, "garden-x"}}, `garden-x/ is held by "", but needed by "` + p},
		"a claim that comes later":                {[]write{{2, p, "garden-x"}, {3, claimX, p}}, "revision 2"},
		"a claim that stays behind":               {[]write{{2, p, "garden-x"}, {2, claimX, p}, {3, p, deletion}}, "revision 3"},
		"a reservation that is deleted too early": {[]write{{2, us, ""}, {2, reservationUS, us}, {3, reservationUS, deletion}}, "revision 3"},
		"the claim of another name":               {[]write{{2, p, "garden-x"}, {2, claimY, p}}, "is held by"},
		"a claim of another object":               {[]write{{2, p, "garden-x"}, {2, claimX, q}}, "is held by"},
		"two objects with one name":               {[]write{{2, p, "garden-x"}, {2, claimX, p}, {3, q, "garden-x"}, {3, claimX, q}}, p + " and " + q + " both need"},
		"a name above another":                    {[]write{{2, us, ""}, {2, reservationUS, us}, {3, east, ""}, {3, claimEast, east}}, "both held"},
		"a name below another":                    {[]write{{2, east, ""}, {2, claimEast, east}, {3, us, ""}, {3, reservationUS, us}}, "both held"},
		"a Project that cannot be decoded":        {[]write{{2, p, "k8s:enc:"}}, "cannot read it"},
		"a Project that holds no namespace":       {[]write{{2, p, ""}}, "without a namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			err := replay(t, test.writes)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func replay(t *testing.T, writes []write) error {
	t.Helper()
	h, err := newHistory(prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		if w.revision != h.revision {
			if err := h.check(); err != nil {
				return err
			}
			h.revision = w.revision
		}
		if err := h.play(eventOf(t, h, w)); err != nil {
			return err
		}
	}
	return h.check()
}

func eventOf(t *testing.T, h *history, w write) *clientv3.Event {
	t.Helper()
	event := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(prefix + w.key), ModRevision: w.revision}}
	switch {
	case w.value == deletion:
		event.Type = mvccpb.Event_DELETE
	case strings.HasPrefix(w.key, "/claims/"):
		event.Kv.Value = []byte(prefix + w.value)
	case strings.HasPrefix(w.key, projects) && w.value != "k8s:enc:":
		project := &gardenerv1beta1.Project{
			TypeMeta: metav1.TypeMeta{APIVersion: gardenerv1beta1.SchemeGroupVersion.String(), Kind: "Project"},
			Spec:     gardenerv1beta1.ProjectSpec{Namespace: &w.value},
		}
		var stored bytes.Buffer
		if err := h.codec.Encode(project, &stored); err != nil {
			t.Fatal(err)
		}
		event.Kv.Value = stored.Bytes()
	default:
		event.Kv.Value = []byte(w.value)
	}
	return event
}
