import json

settings = json.load(open("settings.json"))
values = [float(line) for line in open("values.txt")]
with open("result.json", "w") as file:
    json.dump({"mean": round(sum(values) / len(values), settings["digits"])}, file, indent=1)
print(len(values), "values")
