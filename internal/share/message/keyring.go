package message

import "airtide/internal/share/cellkey"

// keyring holds the keys of a cell: the new one, and during a rotation the old one behind it.
type keyring []taggedKey

// taggedKey is a key and its tag, which selects it.
type taggedKey struct {
	key cellkey.Key
	tag cellkey.Tag
}

func newKeyring(p cellkey.Pair) (all keyring) {
	for _, k := range p.Keys() {
		all = append(all, taggedKey{k, k.Tag()})
	}
	return all
}

// find returns the key with a tag, or nil.
func (r keyring) find(tag cellkey.Tag) *taggedKey {
	for i := range r {
		if r[i].tag == tag {
			return &r[i]
		}
	}
	return nil
}

// turn returns the key of a datagram: each in turn, so that terminals that have only one of them
// open every second one.
func (r keyring) turn(sequence uint32) *taggedKey { return &r[int(sequence)%len(r)] }

// sealers holds the sealers of a session, by tag.
type sealers map[cellkey.Tag]*sealer

// of returns the sealer of a session under a key.
func (s *sealers) of(k *taggedKey, session uint64) *sealer {
	if (*s)[k.tag] == nil {
		if *s == nil || len(*s) >= 2 {
			*s = sealers{} // left by an earlier rotation
		}
		(*s)[k.tag] = newSealer(k.key, session)
	}
	return (*s)[k.tag]
}
