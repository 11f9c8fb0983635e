"""What an endpoint does with requests: whether it keeps S3's contract, and how fast it answers how many of what size.

    run.py       an object to ask about, found or made; then the contract, then the curve; the result, ready for JSON
    asking.py    bare requests by http.client, with their bare answers
    contract.py  the rules, and the judging of answers by them; pure
    reading.py   what is asked of an object that is there
    listing.py   what is asked about names
    writing.py   what is asked with objects of our own, and their removal
    pace.py      requests against the clock, through penstock's own client
    curve.py     what their times say; pure

The contract is that of Amazon S3 where S3 and the servers that speak its language differ. A check that was not asked is
reported as not asked, never as kept. Only some checks are of things that penstock depends on; the others say what to
expect of other clients, or of penstock's promises (as: who notices that an object was replaced).
"""

from penstock.bench.endpoint.run import probe

__all__ = ["probe"]
