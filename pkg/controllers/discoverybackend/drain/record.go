// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain/ownership"
)

// compressed precedes a record that would be too long as JSON: the rest is gzip in base64.
const compressed = "gzip:"

// maxPlain is how long a compressed record may be as JSON, in bytes: more than any object has.
const maxPlain = 16 << 20

// maxRecord is how long a record may be, in bytes. All annotations of an object together may have 256 KiB.
const maxRecord = 200 << 10

// record is what the annotation of a route contains: what users wanted where something else stands now. The order of the fields is
// part of the format: an admission policy finds a drained reference by the text "service":"<namespace>/<name>:<port>","set":0.
type record struct {
	// UID is that of the route. A copy of the route has another one; the same is desired there.
	UID   string       `json:"uid"`
	Rules []ruleRecord `json:"rules"`
	// Owners had the fields that the last write took from them, until they get them back.
	Owners []ownership.Owner `json:"owners,omitempty"`
}

// ruleRecord is what was wanted of one rule.
type ruleRecord struct {
	// List and Index are where the rule was.
	List  string `json:"list"`
	Name  string `json:"name,omitempty"`
	Print string `json:"print"`
	// Refs are what the rule referred to, sorted.
	Refs  []string `json:"refs"`
	Index int      `json:"index"`
	// Frame is the hash of the rule without its references. Records of earlier releases do not have it.
	Frame string `json:"frame,omitempty"`

	Slots   []slotRecord   `json:"slots,omitempty"`
	Mirrors []mirrorRecord `json:"mirrors,omitempty"`
}

// slotRecord is a weight that is not the wanted one.
type slotRecord struct {
	Service string `json:"service"`
	Set     int64  `json:"set"`
	Ordinal int    `json:"ordinal"`
	// Backend is whose Service it is, when it is drained.
	Backend string `json:"backend,omitempty"`
	// Saved is the wanted weight, nil when none was set.
	Saved *int64 `json:"saved,omitempty"`
	// Kept is set when the weight of a drained backend is the wanted one, and recorded nevertheless: a 0 in maintenance without a
	// record is one whose record was removed.
	Kept bool `json:"kept,omitempty"`
	// Failover is set when the Service is drained because it has no ready endpoint, not because of its backend.
	Failover bool `json:"failover,omitempty"`
	// Lost is set when an earlier record could not be read, so that is unknown what was wanted.
	Lost bool `json:"lost,omitempty"`
	// At is the position of the reference among those of the rule that are no mirrors.
	At int `json:"at,omitempty"`
	// Whole is what the wanted weight is in the sum that the weights of the rule have while traffic is moved in steps; 0 when it is the
	// same.
	Whole int64 `json:"whole,omitempty"`
	// Scale is by what earlier releases multiplied all weights of the rule, to set a part of this one; 0 when they are not.
	Scale int64 `json:"scale,omitempty"`
}

type mirrorRecord struct {
	Service string `json:"service"`
	Backend string `json:"backend"`
	place
	At      int             `json:"at"`
	Content json.RawMessage `json:"content"`
}

// helps reports whether the slot is of a weight that keeps the only receivers of an even distribution receiving while
// others of the rule are drained.
func (s *slotRecord) helps() bool { return s.Backend == "" && s.Set > 0 && !positive(s.Saved) }

// isScaled reports whether the weights of the rule have another sum than the wanted ones.
func (s *slotRecord) isScaled() bool { return s.Whole > 0 || s.Scale > 0 }

// seen returns the desired weight of a reference when a user saw the weight that was set on it, and set another one beside it.
func (s *slotRecord) seen(weight *int64) *int64 {
	switch {
	case s.Whole > 0:
		return new(s.Whole)
	case s.Scale == 0 || s.Set == 0:
		return weight
	case !positive(s.Saved):
		return new(s.Scale)
	}
	return new(*s.Saved * s.Scale)
}

func readRecord(annotation string) (saved *record, damaged bool) {
	saved = &record{}
	text, err := plain(annotation)
	if err != nil {
		return nil, true
	}
	if err := json.Unmarshal(text, saved); err != nil || saved.Rules == nil {
		return nil, true
	}
	for _, rule := range saved.Rules {
		for _, mirror := range rule.Mirrors {
			var content map[string]any
			if json.Unmarshal(mirror.Content, &content) != nil || content == nil {
				return nil, true
			}
		}
	}
	return saved, false
}

// IsDamaged reports whether the annotation of a route cannot be read.
func IsDamaged(annotation string) bool {
	_, damaged := readRecord(annotation)
	return damaged
}

func (r *record) write() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("write the record of weights: %w", err)
	}
	if len(text) <= maxRecord {
		return string(text), nil
	}
	short, err := compress(text)
	if err != nil {
		return "", fmt.Errorf("compress the record of weights: %w", err)
	}
	if len(text) > maxPlain || len(short) > maxRecord {
		return "", fmt.Errorf("%w: %d bytes, at most %d: split the route", errRecordTooLong, len(short), maxRecord)
	}
	return short, nil
}

func compress(text []byte) (string, error) {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write(text); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	return compressed + base64.StdEncoding.EncodeToString(buffer.Bytes()), nil
}

// plain returns the JSON of a record.
func plain(annotation string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(annotation, compressed)
	if !ok {
		return []byte(annotation), nil
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxPlain+1))
	if err == nil && len(text) > maxPlain {
		err = errRecordTooLong
	}
	return text, err
}

var errRecordTooLong = errors.New("the record of weights is too long")

// hasContent reports whether something of the rule is not as wanted, or to be recorded nevertheless.
func (r ruleRecord) hasContent() bool {
	return len(r.Mirrors) > 0 || slices.ContainsFunc(r.Slots, func(slot slotRecord) bool {
		return slot.Kept || !equal(&slot.Set, slot.Saved)
	})
}

// silent reports whether all rules are as wanted.
func silent(rules []ruleRecord) bool { return !slices.ContainsFunc(rules, ruleRecord.hasContent) }

// equalRules reports whether two records have the same content of the rules that are not as wanted.
func equalRules(a, b []ruleRecord) bool {
	asWanted := func(r ruleRecord) bool { return !r.hasContent() }
	a, b = slices.DeleteFunc(slices.Clone(a), asWanted), slices.DeleteFunc(slices.Clone(b), asWanted)
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

// drains reports whether a record has something of a backend that is not of a Service that fails over.
func (r *record) drains(backend string) bool {
	if r == nil {
		return false
	}
	return slices.ContainsFunc(r.Rules, func(rule ruleRecord) bool {
		return slices.ContainsFunc(rule.Slots, func(slot slotRecord) bool { return slot.Backend == backend && !slot.Failover }) ||
			slices.ContainsFunc(rule.Mirrors, func(mirror mirrorRecord) bool { return mirror.Backend == backend })
	})
}

// refs returns what a record names; without a record there are none.
func (r *record) refs() []ref {
	if r == nil {
		return nil
	}
	var all []ref
	for _, rule := range r.Rules {
		for _, slot := range rule.Slots {
			all = append(all, recordedRef(slot.Service))
		}
		for _, mirror := range rule.Mirrors {
			all = append(all, recordedRef(mirror.Service))
		}
	}
	return all
}

// recordedRef reads namespace/name:port, as Services are recorded, and kind.group/namespace/name:port. What has another form is
// foreign.
func recordedRef(key string) ref {
	found := ref{key: key}
	if end := strings.LastIndexByte(key, ':'); end >= 0 {
		key, found.port = key[:end], key[end+1:]
	}
	if name, imported := strings.CutPrefix(key, importPrefix); imported {
		key, found.foreign, found.imported = name, true, true
	}
	namespace, name, ok := strings.Cut(key, "/")
	if !ok || strings.Contains(name, "/") {
		return ref{key: found.key, foreign: true}
	}
	found.service = types.NamespacedName{Namespace: namespace, Name: name}
	return found
}
