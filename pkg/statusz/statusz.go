// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package statusz serves a page with the state of a process, as text for users and as JSON.
package statusz

import (
	"bytes"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/pkg/configfile"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Component identifies the process. A page begins with one.
type Component struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
	Started   string `json:"started"`
	Uptime    string `json:"uptime"`
}

// NewComponent describes this process, which runs since started.
func NewComponent(name string, started, now time.Time) Component {
	return Component{
		Name: name, Version: version.Version(), Commit: version.Commit(), GoVersion: runtime.Version(),
		Started: started.UTC().Format(time.RFC3339), Uptime: now.Sub(started).Round(time.Second).String(),
	}
}

// Handler serves what read returns, which has JSON tags: as JSON when the client requests it (Accept: application/json), as YAML in
// plain text otherwise. The page is for users and may change with every version.
func Handler(read func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		kind, write := "text/plain; charset=utf-8", func(page any) error { return configfile.Print(&body, page) }
		if strings.Contains(r.Header.Get("Accept"), "application/json") {
			kind, write = "application/json", func(page any) error { return json.NewEncoder(&body).Encode(page) }
		}
		if err := write(read()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body.Bytes())
	})
}
