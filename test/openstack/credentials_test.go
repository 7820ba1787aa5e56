// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// remedy is the instruction in an error about an application credential.
const remedy = "make a new one, and put it into the Secret"

// applicationCredential makes an application credential of a user. It returns its path, and the data of a Secret with it.
func (a *api) applicationCredential(more ...any) (path string, data map[string][]byte) {
	a.t.Helper()
	path = "identity/users/" + a.userID + "/application_credentials"
	made := a.must(http.MethodPost, path, wrap("application_credential", append([]any{"name", fmt.Sprintf("test-%08x", rand.Uint32())}, more...)...))
	clouds := map[string]any{"clouds": map[string]any{"c": map[string]any{"auth_type": "v3applicationcredential", "region_name": "RegionOne", "auth": map[string]any{
		"auth_url": a.authURL, "application_credential_id": made["id"], "application_credential_secret": made["secret"]}}}}
	text, err := json.Marshal(clouds)
	if err != nil {
		a.t.Fatal(err)
	}
	return path + "/" + made["id"].(string), map[string][]byte{"clouds.yaml": text}
}

func TestApplicationCredential(t *testing.T) {
	needTestbed(t)
	clients, err := openstack.NewClients(options())
	if err != nil {
		t.Fatal(err)
	}
	client, err := clients.Get(context.Background(), &corev1.Secret{Data: map[string][]byte{"clouds.yaml": readFile(t, "clouds.yaml"), "cloud": []byte("appcred")}})
	if err != nil {
		t.Fatal(err)
	}
	if demo := realUser(t, "demo"); client.ProjectID() != demo.projectID {
		t.Errorf("project %s, want %s", client.ProjectID(), demo.projectID)
	}
	if _, err := client.Compute().Servers(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestApplicationCredentialsThatEnd checks that the error for a deleted or expired application credential states that it must be
// recreated.
func TestApplicationCredentialsThatEnd(t *testing.T) {
	needTestbed(t)
	clients, err := openstack.NewClients(options())
	if err != nil {
		t.Fatal(err)
	}
	a := newProject(t)
	get := func(uid string, data map[string][]byte) error {
		_, err := clients.Get(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Data: data})
		return err
	}
	rejected := func(what string, err error) {
		t.Helper()
		if openstack.ReasonOf(err) != openstack.ReasonCredentialsRefused || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: %v, want %s with %q", what, err, openstack.ReasonCredentialsRefused, remedy)
		}
	}
	path, data := a.applicationCredential()
	if err := get("1", data); err != nil {
		t.Fatal(err)
	}
	a.must(http.MethodDelete, path, nil)
	rejected("a deleted one", get("2", data))

	end := time.Now().Add(10 * time.Second).UTC()
	_, data = a.applicationCredential("expires_at", end.Format("2006-01-02T15:04:05.000000"))
	if err := get("3", data); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(end) + time.Second) // only time ends it
	rejected("an expired one", get("4", data))
}
