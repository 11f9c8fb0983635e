"""URLs and access: taken apart, refused by name, and without a secret in anything that is shown."""

import json

import pytest

from penstock.errors import UsageError
from penstock.storage.location import Access, Location, is_url


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "REGION", "DEFAULT_REGION", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("s3://bucket/a/b.pen", ("s3", "bucket", "a/b.pen")),
        ("s3://bucket", ("s3", "bucket", "")),
        ("gs://bucket/a/", ("gs", "bucket", "a")),
        ("az://container/a", ("az", "container", "a")),
        ("http://127.0.0.1:8000/a", ("http", "127.0.0.1:8000", "a")),
    ],
)
def test_a_url_is_a_scheme_a_store_and_a_path(url, parts):
    location = Location.of(url)
    assert (location.scheme, location.host, location.path) == parts
    assert str(location) == url.rstrip("/")
    assert location.name("x") == f"{parts[2]}/x".lstrip("/")


def test_paths_of_this_machine_are_no_urls():
    assert [is_url(path) for path in ("photos", "/data/photos.pen", "a:b", "s3://b/c")] == [False, False, False, True]


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("ftp://host/a", "no URL of an object store"),
        ("s3:///a", "no URL of an object store"),
        ("https://me:hush@host/a", "no user and password"),
        ("https://host/a?X-Amz-Signature=hush", "no query"),
    ],
)
def test_other_urls_are_refused_without_repeating_what_may_be_secret(url, what):
    with pytest.raises(UsageError, match=what) as caught:
        Location.of(url)
    assert "hush" not in str(caught.value)


def test_explicit_options_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://there:1")
    assert Access().s3_options()["region"] == "eu-north-1"
    assert Access().s3_options()["endpoint"] == "http://there:1"
    assert Access(region="here", endpoint="http://here:2").s3_options()["region"] == "here"
    assert Access(region="here", endpoint="http://here:2").s3_options()["endpoint"] == "http://here:2"
    assert Access(anonymous=True).s3_options()["skip_signature"] is True


def profile(tmp_path, credentials, config=""):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(credentials)
    (tmp_path / ".aws" / "config").write_text(config)


def test_a_profile_gives_keys_region_and_endpoint(tmp_path):
    keys = "[lab]\naws_access_key_id = me\naws_secret_access_key = hush%\n"
    profile(tmp_path, keys, "[profile lab]\nregion = eu-west-1\nendpoint_url = http://lab:9\n")
    options = Access(profile="lab").s3_options()
    assert (options["access_key_id"], options["secret_access_key"]) == ("me", "hush%")
    assert (options["region"], options["endpoint"]) == ("eu-west-1", "http://lab:9")


def test_a_profile_that_is_not_there_or_has_no_keys_is_named(tmp_path):
    profile(tmp_path, "", "[profile sso]\nsso_session = x\n")
    with pytest.raises(UsageError, match="no such profile: got other"):
        Access(profile="other").s3_options()
    with pytest.raises(UsageError, match="no keys of its own: got sso"):
        Access(profile="sso").s3_options()


def test_a_configuration_file_gives_keys_and_endpoint_and_stays_the_only_place_that_has_them(tmp_path):
    file = tmp_path / "s3.json"
    file.write_text(
        json.dumps(
            {
                "aws_access_key_id": "me",
                "aws_secret_access_key": "hush",
                "bucket_name": "lab",
                "endpoint_url": "http://lab:9",
                "index_file_download_url": "http://lab:9/index.json",
            }
        )
    )
    access = Access(config=str(file))
    options = access.s3_options()
    assert (options["access_key_id"], options["secret_access_key"]) == ("me", "hush")
    assert options["endpoint"] == "http://lab:9"
    assert "hush" not in repr(access)


@pytest.mark.parametrize(
    ("text", "what"),
    [("{", "not JSON"), ("[1]", "not an object"), ('{"aws_secret": "hush"}', "unknown key: got aws_secret")],
)
def test_a_configuration_file_that_is_something_else_is_refused_unshown(tmp_path, text, what):
    (tmp_path / "s3.json").write_text(text)
    with pytest.raises(UsageError, match=what) as caught:
        Access(config=str(tmp_path / "s3.json")).s3_options()
    assert "hush" not in str(caught.value)
