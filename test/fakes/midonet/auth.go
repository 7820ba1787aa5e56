// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"time"
)

// login hands out a token: POST /login with Basic auth, the tenant in X-Auth-Project.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	user, password, ok := r.BasicAuth()
	o := s.options
	if o.Username != "" && (!ok || !same(user, o.Username) || !same(password, o.Password)) {
		writeProblem(w, reject(http.StatusUnauthorized, "user or password is wrong"))
		return
	}
	if o.Project != "" && r.Header.Get("X-Auth-Project") != o.Project {
		writeProblem(w, reject(http.StatusUnauthorized, "no permissions in this project"))
		return
	}
	token, expires := rand.Text(), o.Now().Add(o.TokenLifetime)
	s.mu.Lock()
	s.tokens[token] = expires
	s.mu.Unlock()
	w.Header().Set("Content-Type", vendor("Token-v1"))
	_ = json.NewEncoder(w).Encode(map[string]any{"key": token, "expires": expires.UTC().Format(time.RFC3339)})
}

// authorize wants a token that was handed out and has not ended.
func (s *Server) authorize(r *http.Request) *problem {
	if s.options.Username == "" {
		return nil
	}
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return reject(http.StatusUnauthorized, "no token was passed in")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expires, ok := s.tokens[token]
	if !ok || !s.options.Now().Before(expires) {
		delete(s.tokens, token)
		return reject(http.StatusUnauthorized, "the token is not known or has ended")
	}
	return nil
}

// RevokeTokens ends all tokens, as a restart of Keystone can.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
