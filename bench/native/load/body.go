package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync/atomic"
)

// What stands in a template for the number of a request, and for an address: as long as one, so that lengths within a
// message stay.
var (
	idMark      = []byte(`"#"`)
	addressMark = []byte("0x########################################")
)

// bodies makes the bodies of a run out of a template: ids count up, addresses too. Safe for concurrent use.
type bodies struct {
	pieces   [][]byte
	isID     []bool // whether the mark behind a piece is an id
	size     int
	salt     string
	distinct uint64 // 0 for addresses that never come again
	ids      atomic.Uint64
	next     atomic.Uint64
}

func parse(template []byte, salt string, distinct, first uint64) *bodies {
	made := &bodies{salt: salt, distinct: distinct, size: len(template) + 1024}
	made.next.Store(first)
	for {
		id, address := bytes.Index(template, idMark), bytes.Index(template, addressMark)
		if id < 0 && address < 0 {
			made.pieces = append(made.pieces, template)
			return made
		}
		isID := address < 0 || (id >= 0 && id < address)
		at, mark := address, addressMark
		if isID {
			at, mark = id, idMark
		}
		made.pieces, made.isID = append(made.pieces, template[:at]), append(made.isID, isID)
		template = template[at+len(mark):]
	}
}

// write appends a body to what is there and returns it with the first and the last id in it.
func (b *bodies) write(text []byte) (body []byte, first, last uint64) {
	for place, piece := range b.pieces {
		text = append(text, piece...)
		if place == len(b.isID) {
			break
		}
		if b.isID[place] {
			last = b.ids.Add(1)
			if first == 0 {
				first = last
			}
			text = strconv.AppendUint(text, last, 10)
			continue
		}
		number := b.next.Add(1) - 1
		if b.distinct > 0 {
			number %= b.distinct
		}
		text = append(text, "0x"...)
		text = append(text, b.salt...)
		var digits [12]byte
		for at := len(digits) - 1; number > 0; at-- {
			digits[at] = byte(number)
			number >>= 8
		}
		text = hex.AppendEncode(text, digits[:])
	}
	return text, first, last
}

// check returns why an answer over JSON-RPC is not that of so many items that all succeeded, each with the text in it;
// the ids stand at its first and last item.
func check(answer []byte, items int, contained []byte, first, last uint64) error {
	if found := bytes.Count(answer, []byte(`"jsonrpc"`)); found != items {
		return fmt.Errorf("%d answers instead of %d: %.300q", found, items, answer)
	}
	if at := bytes.Index(answer, []byte(`"error":`)); at >= 0 {
		return fmt.Errorf("an item failed: %.300q", answer[at:])
	}
	if len(contained) > 0 && bytes.Count(answer, contained) != items {
		return fmt.Errorf("not every item has %q: %.300q", contained, answer)
	}
	var room [40]byte
	for _, id := range [2]uint64{first, last} {
		wanted := strconv.AppendUint(append(room[:0], `"id":`...), id, 10)
		// What follows is no digit: an object's end, or its next member.
		isThere := bytes.Contains(answer, append(wanted, '}')) || bytes.Contains(answer, append(wanted, ','))
		if first > 0 && !isThere {
			return fmt.Errorf("no answer has the id %d: %.300q", id, answer)
		}
	}
	return nil
}
