// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writesPolicy records writes, except for reviews, which write nothing, and leases, which are written all the time.
const writesPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- level: None
  resources: [{group: authentication.k8s.io}, {group: authorization.k8s.io}, {group: coordination.k8s.io}]
- {level: Metadata}
`

// writes reads from the audit log of a plane what Groundskeeper's processes wrote, or tried to, of which the name of the object or
// of its namespace has the text in it. The state of the store, recorded every ten seconds, does not count.
func writes(t *testing.T, log string, c client.Client, text string) []string {
	t.Helper()
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name(t, "mark")}}
	if err := c.Create(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	var content []byte
	eventually(t, func(context.Context) (err error) { // earlier writes precede it in the log
		if content, err = os.ReadFile(log); err == nil && !bytes.Contains(content, []byte(mark.Name)) {
			err = fmt.Errorf("%s does not have %s", log, mark.Name)
		}
		return err
	})
	var found []string
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) { // the last line may be incomplete
		var record struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource, Namespace, Name string }
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		object := record.ObjectRef
		if slices.Contains([]string{"get", "list", "watch"}, record.Verb) || !slices.Contains(own(), record.User.Username) ||
			object.Namespace == "groundskeeper-system" || !strings.Contains(object.Namespace+" "+object.Name, text) {
			continue
		}
		found = append(found, fmt.Sprintf("%s %s/%s %s/%s", record.Verb, object.Resource, object.Subresource, object.Namespace, object.Name))
	}
	return found
}
