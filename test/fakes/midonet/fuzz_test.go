// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"testing"
)

// FuzzDecodeFields checks that any body is rejected with 400, or can be returned and read again.
func FuzzDecodeFields(f *testing.F) {
	for _, body := range []string{`{}`, `null`, `{"id":"` + chain + `"}`, `{"type":"jump","position":1}`, `{"natTargets":[{"portFrom":1e3}]}`, `{"portSubnet":["10.0.0.1/8"]}`, `{"tpDst":{"start":1,"end":2}}`} {
		for _, kind := range []string{"Chain", "Rule", "Port"} {
			f.Add(kind, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		got, p := decodeFields(kind, body)
		if p != nil {
			if p.status != 400 || p.message == "" {
				t.Errorf("rejected with %+v, want 400 and a reason", p)
			}
			return
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if _, p := decodeFields(kind, data); p != nil {
			t.Errorf("%s was taken as %s, which is rejected: %s", body, data, p.message)
		}
	})
}

// FuzzDecodeFault checks that any fault is rejected or can be set.
func FuzzDecodeFault(f *testing.F) {
	f.Add([]byte(`{"method":"POST","path":"/chains","status":503,"times":3,"latency":"5ms"}`))
	f.Add([]byte(`{"cut":"answer"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if fault, err := decodeFault(data); err == nil {
			if err := New(Options{}).Inject(fault); err != nil {
				t.Errorf("%s is a fault that cannot be set: %v", data, err)
			}
		}
	})
}
