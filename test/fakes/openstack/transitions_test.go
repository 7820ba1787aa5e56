// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// A fake and a user with a token.
type tester struct {
	*Server
	t     *testing.T
	token string
}

func newTester(t *testing.T, o Options) *tester {
	t.Helper()
	s := New(o)
	t.Cleanup(s.Close)
	s.AddUser("gardener", "password", "garden")
	a := &tester{Server: s, t: t}
	user := map[string]any{"name": "gardener", "password": "password", "domain": map[string]any{"id": "default"}}
	status, header := a.send(http.MethodPost, "/identity/v3/auth/tokens", map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}},
		"scope":    map[string]any{"project": map[string]any{"id": "garden"}},
	}})
	if status != http.StatusCreated {
		t.Fatal(status)
	}
	a.token = header.Get("X-Subject-Token")
	return a
}

func (a *tester) send(method, path string, body any) (status int, header http.Header) {
	a.t.Helper()
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body) // maps of texts
	}
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.http.URL+path, bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", a.token)
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// Checks the code that a request gets.
func (a *tester) expect(method, path string, status int) {
	a.t.Helper()
	if got, _ := a.send(method, path, nil); got != status {
		a.t.Errorf("%s %s: %d, want %d", method, path, got, status)
	}
}

func (a *tester) volumeStatus(id string) string {
	for _, v := range a.Volumes("garden") {
		if v.ID == id {
			return v.Status
		}
	}
	return "gone"
}

func TestSettle(t *testing.T) {
	a := newTester(t, Options{Delay: -1})
	id := a.AddVolume("garden", Volume{})
	bad := a.AddVolume("garden", Volume{})
	a.FailDeletion(true, bad)
	for _, volume := range []string{id, bad} {
		a.expect(http.MethodDelete, volumeRoot+"/volumes/"+volume, http.StatusAccepted)
		a.expect(http.MethodGet, volumeRoot+"/volumes/"+volume, http.StatusOK)
	}
	if got := a.volumeStatus(id); got != "deleting" {
		t.Errorf("before Settle it is %s", got)
	}
	a.Hold(id)
	a.Settle()
	if got := a.volumeStatus(id) + " " + a.volumeStatus(bad); got != "deleting error_deleting" {
		t.Errorf("held and failing they are %s", got)
	}
	a.Release(id)
	a.Settle()
	if got := a.volumeStatus(id); got != "gone" {
		t.Errorf("in the end it is %s", got)
	}
	a.expect(http.MethodDelete, volumeRoot+"/volumes/"+bad, http.StatusBadRequest)
	a.FailDeletion(false, bad)
	a.ChangeVolume(bad, func(v *Volume) { v.Status = "error" })
	a.expect(http.MethodDelete, volumeRoot+"/volumes/"+bad, http.StatusAccepted)
	a.Settle()
	a.expect(http.MethodGet, volumeRoot+"/volumes/"+bad, http.StatusNotFound)
}

func TestDelay(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := newTester(t, Options{Delay: time.Minute, Now: func() time.Time { return now }})
	id := a.AddVolume("garden", Volume{})
	a.expect(http.MethodDelete, volumeRoot+"/volumes/"+id, http.StatusAccepted)
	now = now.Add(time.Minute - 1)
	a.expect(http.MethodGet, volumeRoot+"/volumes/"+id, http.StatusOK)
	now = now.Add(1)
	a.expect(http.MethodGet, volumeRoot+"/volumes/"+id, http.StatusNotFound)
}

func TestLoadBalancerThatIsHeld(t *testing.T) {
	a := newTester(t, Options{})
	a.AddNetwork("10.0.0.0/24")
	id := a.AddLoadBalancer("garden", LoadBalancer{VIP: "10.0.0.9"})
	port := a.LoadBalancers("garden")[0].VIPPortID
	floating := a.AddFloatingIPFor("garden", FloatingIP{Address: "1.2.3.4", PortID: port})
	own := a.AddLoadBalancer("garden", LoadBalancer{VIP: "10.0.0.10", VIPPortID: a.AddPort("garden", "", "", "mine", "10.0.0.10")})
	path := balancerRoot + "/v2.0/lbaas/loadbalancers/"
	status := func() string {
		for _, b := range a.LoadBalancers("garden") {
			if b.ID == id {
				return b.ProvisioningStatus
			}
		}
		return "gone"
	}
	a.Hold(id)
	if got := status(); got != pendingUpdate {
		t.Errorf("held it is %s", got)
	}
	a.expect(http.MethodDelete, path+id, http.StatusConflict)
	a.Release(id)
	if got := status(); got != active {
		t.Errorf("released it is %s", got)
	}
	a.FailDeletion(true, id)
	a.expect(http.MethodDelete, path+id, http.StatusNoContent)
	if got := status(); got != failed {
		t.Errorf("when its deletion fails it is %s", got)
	}
	a.expect(http.MethodGet, networkRoot+"/v2.0/ports/"+port, http.StatusOK)
	a.FailDeletion(false, id)
	a.expect(http.MethodDelete, path+id, http.StatusNoContent)
	a.expect(http.MethodGet, path+id, http.StatusNotFound)
	a.expect(http.MethodGet, networkRoot+"/v2.0/ports/"+port, http.StatusNotFound)
	if left := a.FloatingIPs("garden"); len(left) != 1 || left[0].ID != floating || left[0].PortID != "" {
		t.Errorf("its floating IP: %+v", left)
	}
	// A port that another client made stays.
	kept := a.LoadBalancers("garden")[0].VIPPortID
	a.expect(http.MethodDelete, path+own, http.StatusNoContent)
	a.expect(http.MethodGet, path+own, http.StatusNotFound)
	a.expect(http.MethodGet, networkRoot+"/v2.0/ports/"+kept, http.StatusOK)
}
