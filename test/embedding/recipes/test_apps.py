# python3 -m unittest test_apps.py
import json
import subprocess
import unittest

import requests

COMMAND = ["node_modules/.bin/app-hosting-service", "--port", "0", "--log", "json", "--control"]


class Apps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True)
        ready = json.loads(cls.server.stdout.readline())
        cls.base, cls.control = ready["base_url"], ready["auth_url"] + "/_control"
        cls.http = requests.Session()
        cls.http.headers["Authorization"] = "Bearer " + ready["api_key"]

    @classmethod
    def tearDownClass(cls):
        cls.http.close()
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()

    def setUp(self):
        self.http.post(self.control + "/reset").raise_for_status()
        self.http.post(self.control + "/clock", json={"freeze": True}).raise_for_status()

    def test_fault(self):
        fault = {"method": "POST", "path": "/v1/apps", "status": 503}
        self.http.post(self.control + "/faults", json=fault).raise_for_status()
        self.assertEqual(self.http.post(self.base + "/apps", json={"title": "Sales"}).status_code, 503)
        self.assertEqual(self.http.post(self.base + "/apps", json={"title": "Sales"}).status_code, 201)

    def test_trace(self):
        created = self.http.post(self.base + "/apps", json={"title": "Sales"})
        self.assertTrue(self.http.post(self.control + "/settled?timeout=5s").json()["settled"])
        self.http.post(self.control + "/clock", json={"advance": "5m"}).raise_for_status()
        trace = self.http.get(self.control + "/trace/" + created.headers["X-Request-Id"]).json()
        self.assertEqual(trace["events"][0]["event"]["type"], "app.created")
