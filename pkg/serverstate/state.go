// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package serverstate is what each API server publishes of itself in a ConfigMap, so that the controller manager acts on what the
// servers do, and not on what its own configuration expects of them.
package serverstate

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Namespace is that of the ConfigMap.
	Namespace = "groundskeeper-system"
	// Name is that of the ConfigMap. Each server has a key in it, whose value is a State in JSON.
	Name = "groundskeeper-apiservers"
	// Period is how often a server renews its State.
	Period = 10 * time.Second
	// Expiry is how long a State that is not renewed counts: without a connection to the kube-apiserver, a server authorizes no request.
	Expiry = time.Minute
	// discardAfter is when the other servers remove the State of a server that ended without doing so. It is short, because each restart
	// of a server that crashes repeatedly leaves one, and the size of a ConfigMap is limited.
	discardAfter = 2 * Expiry
)

// State is that of one server.
type State struct {
	// ProjectAuthorization is the value of the flag --project-authorization.
	ProjectAuthorization string `json:"projectAuthorization"`
	// Renewed is the time on the clock of the server. It is compared with earlier values only, never with another clock.
	Renewed metav1.Time `json:"renewed"`
}

// Encode returns the value of a key.
func Encode(state State) (string, error) {
	text, err := json.Marshal(state)
	return string(text), err
}

// Of returns the states in the data of the ConfigMap by the names of the servers. One that cannot be read is an error: it is unknown how
// that server authorizes.
func Of(data map[string]string) (map[string]State, error) {
	states := make(map[string]State, len(data))
	for server, text := range data {
		var state State
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s, key %s: %w", Namespace, Name, server, err)
		}
		states[server] = state
	}
	return states, nil
}
