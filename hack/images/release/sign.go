// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// key signs images and the provenance. Its signatures are those that cosign makes with "--key", and the same at any time: those of
// Ed25519 are, and those of ECDSA as well, because they use no random number (RFC 6979).
type key struct{ signer crypto.Signer }

// readKey reads a private key, PKCS #8 in PEM, as "openssl genpkey" writes it.
func readKey(name string) (key, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return key{}, err
	}
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "PRIVATE KEY" {
		return key{}, fmt.Errorf("%s has no private key in PKCS #8: openssl genpkey -algorithm ed25519 creates one", name)
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return key{}, fmt.Errorf("%s: %w", name, err)
	}
	switch private := private.(type) {
	case ed25519.PrivateKey:
		return key{private}, nil
	case *ecdsa.PrivateKey:
		return key{private}, nil
	}
	return key{}, fmt.Errorf("%s: a key is Ed25519 or ECDSA", name)
}

// sign returns the signature of a message.
func (k key) sign(message []byte) ([]byte, error) {
	if _, ok := k.signer.(ed25519.PrivateKey); ok {
		return k.signer.Sign(nil, message, crypto.Hash(0))
	}
	digest := sha256.Sum256(message)
	return k.signer.Sign(nil, digest[:], crypto.SHA256)
}

// verify fails unless a signature is that of a message.
func (k key) verify(message, signature []byte) error {
	ok := false
	switch public := k.signer.Public().(type) {
	case ed25519.PublicKey:
		ok = ed25519.Verify(public, message, signature)
	case *ecdsa.PublicKey:
		digest := sha256.Sum256(message)
		ok = ecdsa.VerifyASN1(public, digest[:], signature)
	}
	if !ok {
		return errors.New("the signature is not one of the key")
	}
	return nil
}

// envelope is a signed statement: DSSE, as "cosign verify-blob-attestation" and slsa-verifier read it.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// statementType is the type of a statement in an envelope.
const statementType = "application/vnd.in-toto+json"

// sealed returns a statement in an envelope.
func (k key) sealed(statement []byte) ([]byte, error) {
	sig, err := k.sign(authenticated(statement))
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(envelope{
		PayloadType: statementType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []signature{{Sig: base64.StdEncoding.EncodeToString(sig)}},
	})
	return append(content, '\n'), err
}

// authenticated returns what the signature of an envelope is of (PAE of DSSE): the type and the statement with their lengths.
func authenticated(statement []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(statementType), statementType, len(statement), statement)
}
